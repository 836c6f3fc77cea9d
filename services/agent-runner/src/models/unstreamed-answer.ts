import { AngeliaError } from '@angelia/contracts';
import type { Fetch } from './model-fetch.ts';

/**
 * Thrown by the fetch of a streaming call when the server answers with one JSON document. Not every server can stream,
 * and some do not for a request with tools. The answer is there and paid for: read it, do not ask again.
 */
export class UnstreamedAnswer extends AngeliaError {
  override readonly name = 'UnstreamedAnswer';
  readonly code = 'unstreamed_answer';
  readonly retryable = false;
  readonly response: Response;

  constructor(response: Response) {
    super('the server answered with one document instead of a stream');
    this.response = response;
  }
}

/** Unless the header says that it is a stream, the content decides: servers that do not stream are lax with headers. */
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
