import type * as undici from 'undici';
import type { RemoteModelConfig } from './sdk-model.ts';

export type Fetch = typeof globalThis.fetch;

/** Of one response. A streamed token takes about 250 bytes: this is 250,000 tokens, more than any model answers with. */
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * A fetch without time limits. Node's own gives up after 300 s without headers or without a byte of the body; the config
 * says how long a model may take (`timeout_seconds`, `stall_seconds`), and limitCallTime enforces it.
 *
 * Redirects are not followed: they would carry the key in its header to another host.
 */
export async function createModelFetch(omittedHeader: string | null = null): Promise<Fetch> {
  const undici = await import('undici');
  const dispatcher = new undici.Agent({ headersTimeout: 0, bodyTimeout: 0, maxResponseSize: MOST_BYTES });
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
