import { nameAt } from '../../payload/lookup.ts';
import { equalsHex, hmacSha256 } from '../digest.ts';
import { eventInBody } from '../provider-names.ts';
import { isFresh, timestampProblem } from '../replay-window.ts';
import { claimsHeader, headerOf, type Scheme } from '../scheme.ts';

const HEADER = 'x-slack-signature';
const PREFIX = 'v0=';
const EVENT_ID = /^Ev\w/;

/** Slack: `X-Slack-Signature: v0=<hex HMAC-SHA256 of "v0:timestamp:body">`; the secret is the app's signing secret. */
export const slack: Scheme = {
  name: 'slack',
  header: 'X-Slack-Signature',
  claims: claimsHeader(HEADER),
  verify({ headers, body, nowMs }, secret) {
    const signature = headerOf(headers, HEADER);
    const timestamp = headerOf(headers, 'x-slack-request-timestamp');
    if (signature === null || !signature.startsWith(PREFIX) || !isFresh(timestamp, nowMs)) return false;
    return equalsHex(hmacSha256(secret.key, `v0:${timestamp}:`, body), signature.slice(PREFIX.length));
  },
  problem: ({ headers, nowMs }) =>
    timestampProblem('X-Slack-Request-Timestamp', headerOf(headers, 'x-slack-request-timestamp'), nowMs),
  provider: {
    // The Events API has one. Commands and interactions have none, and differ in their bodies (`trigger_id`).
    id: ({ payload }) => {
      const text = nameAt(payload, 'event_id');
      return text !== null && EVENT_ID.test(text) ? { text } : null;
    },
    idIsSigned: true,
    event: ({ payload }) => eventInBody(payload),
    eventIsSigned: true,
  },
};
