import { createHmac } from 'node:crypto';
import { equalsHex } from './hex-digest.ts';
import { headerOf, type Scheme } from './scheme.ts';

/** As in Hermes: long enough for clock skew and a slow network, short enough to make a captured request useless. */
export const REPLAY_WINDOW_SECONDS = 300;

const UNIX_SECONDS = /^[0-9]{1,12}$/;

/**
 * The generic scheme of Hermes: `X-Webhook-Signature-V2` is the hex HMAC-SHA256 of `<timestamp>.<body>`, with
 * the timestamp exactly as it stands in `X-Webhook-Timestamp` (Unix seconds).
 */
export const timestampedHmac: Scheme = {
  name: 'hmac',
  header: 'x-webhook-signature-v2',
  verify({ headers, body, nowMs }, secret) {
    const signature = headerOf(headers, 'x-webhook-signature-v2');
    const timestamp = headerOf(headers, 'x-webhook-timestamp');
    if (signature === null || timestamp === null || !UNIX_SECONDS.test(timestamp)) return false;
    if (Math.abs(Math.floor(nowMs / 1000) - Number(timestamp)) > REPLAY_WINDOW_SECONDS) return false;
    return equalsHex(
      createHmac('sha256', secret.key).update(`${timestamp}.`).update(body).digest(),
      signature,
    );
  },
};
