import type * as undici from 'undici';
import type { RemoteModelConfig } from './sdk-model.ts';

export type Fetch = typeof globalThis.fetch;

/** Of one response. A streamed token takes some 250 of them: that is 250,000 tokens, more than any model answers. */
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Node's own fetch gives up after 300 s without headers or without a byte of the body. How long a model may take is the
 * config's to say (`timeout_seconds`, `stall_seconds`), and limitCallTime's to keep.
 *
 * Redirects are answers, and refused: followed, they would carry the key in its header to wherever they lead.
 */
export async function createModelFetch(leftOut: string | null = null): Promise<Fetch> {
  const undici = await import('undici');
  const dispatcher = new undici.Agent({ headersTimeout: 0, bodyTimeout: 0, maxResponseSize: MOST_BYTES });
  const fetch = (url: string, init?: undici.RequestInit) => {
    const headers = new undici.Headers(init?.headers);
    if (leftOut !== null) headers.delete(leftOut);
    return undici.fetch(url, { ...init, headers, redirect: 'manual', dispatcher });
  };
  // The same standard twice: undici's own types of it, and those of Node.
  return fetch as unknown as Fetch;
}

/** The header of the key, when there is none: the SDK would else insist on one. Null: it is to be sent. */
export function omittedKeyHeader(config: RemoteModelConfig, header: string): string | null {
  const own = Object.keys(config.headers ?? {}).some((name) => name.toLowerCase() === header);
  return config.api_key === undefined && !own ? header : null;
}
