import { AngeliaError } from '@angelia/contracts';
import type * as undici from 'undici';
import { CONNECTION_OPTIONS, type RemoteModelConfig } from '../remote-model.ts';

export type Fetch = typeof globalThis.fetch;

/**
 * A fetch without time limits (CONNECTION_OPTIONS). Redirects are not followed: they would carry the key in its header to
 * another host.
 */
export async function createModelFetch(omittedHeader: string | null = null): Promise<Fetch> {
  const undici = await import('undici');
  const dispatcher = new undici.Agent(CONNECTION_OPTIONS);
  const fetch = (url: string, init?: undici.RequestInit) => {
    const headers = new undici.Headers(init?.headers);
    if (omittedHeader !== null) headers.delete(omittedHeader);
    return undici.fetch(url, { ...init, headers, redirect: 'manual', dispatcher });
  };
  // undici has its own types for the standard that Node's types describe.
  return fetch as unknown as Fetch;
}

/** The header to omit when the config has no key, because the SDK insists on one. Null: send it. */
export function omittedKeyHeader(config: RemoteModelConfig, header: string): string | null {
  const own = Object.keys(config.headers ?? {}).some((name) => name.toLowerCase() === header);
  return config.api_key === undefined && !own ? header : null;
}

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

/** As the last line of what came so far. A text cannot look like it: it is within JSON, which has no line ends. */
const DONE = /(?:^|[\r\n])data: ?\[DONE\]\s*$/;
const LONGEST_DONE = 64;

/**
 * Adds the signal of a call to `ended` when its stream says that this is all (`[DONE]`). The SDK does not tell, and some
 * servers give no finish reason before it.
 */
export function noticeDone(fetch: Fetch, ended: WeakSet<AbortSignal>): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const { ok, status, headers, body } = response;
    const signal = init?.signal;
    if (!ok || body === null || !signal) return response;
    let last = '';
    const watched = body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (bytes, controller) => {
          last = (last + Buffer.from(bytes.subarray(-LONGEST_DONE)).toString('latin1')).slice(-LONGEST_DONE);
          if (DONE.test(last)) ended.add(signal);
          controller.enqueue(bytes);
        },
      }),
    );
    return new Response(watched, { status, headers: Object.fromEntries(headers) });
  };
}
