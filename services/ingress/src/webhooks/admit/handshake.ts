import type { IncomingHttpHeaders } from 'node:http';

/** Slack's challenges have 52 characters; what is sent back must not be a message of somebody's choice. */
const LONGEST_CHALLENGE = 200;

/**
 * Requests by which a provider asks, when a subscription is made, whether its receiver is there: answered at once, and
 * no session. Slack's Events API sends `{"type":"url_verification","challenge":...}`, signed like everything else, so
 * that this comes after the signature was checked. (GitHub's `ping` is an event like others; list `events` to skip it.)
 */
export function handshakeAnswer(
  headers: IncomingHttpHeaders,
  payload: unknown,
): Readonly<Record<string, string>> | null {
  if (headers['x-slack-signature'] === undefined) return null;
  const { type, challenge } = (payload ?? {}) as { type?: unknown; challenge?: unknown };
  if (type !== 'url_verification' || typeof challenge !== 'string') return null;
  return challenge.length <= LONGEST_CHALLENGE ? { challenge } : null;
}
