import type { IncomingHttpHeaders } from 'node:http';

/** A webhook as somebody wrote it down, in the form in which it would arrive. */
export interface SentWebhook {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export function sentWebhook(payload: unknown, headers: Readonly<Record<string, string>>): SentWebhook {
  const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    headers: { 'content-type': 'application/json', ...Object.fromEntries(lowered) },
    body: Buffer.from(JSON.stringify(payload ?? null)),
  };
}
