import type { Fetch } from './model-fetch.ts';

/**
 * Thrown by the fetch of a streaming call when the server has answered with one JSON document: not every server that
 * speaks a protocol can stream, and some do not for a request with tools. The answer is there, and paid for: read it as
 * what it is, do not ask again.
 */
export class UnstreamedAnswer extends Error {
  override readonly name = 'UnstreamedAnswer';
  readonly response: Response;

  constructor(response: Response) {
    super('the server has answered with one document instead of a stream');
    this.response = response;
  }
}

/** By its content where the header does not say that it is a stream: servers that do not stream are lax with it, too. */
export function detectUnstreamed(fetch: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const { ok, status, headers } = response;
    if (!ok || headers.get('content-type')?.includes('text/event-stream')) return response;
    const text = await response.text();
    const read = new Response(text, { status, headers: Object.fromEntries(headers) });
    if (text.trimStart().startsWith('{')) throw new UnstreamedAnswer(read);
    return read;
  };
}
