import { verify as verifySignature } from 'node:crypto';
import { nameAt, propertyOf } from '../../payload/lookup.ts';
import { isFresh, timestampProblem } from '../replay-window.ts';
import { claimsHeader, type Handshake, headerOf, type Scheme } from '../scheme.ts';

const HEADER = 'x-signature-ed25519';
const TIMESTAMP = 'x-signature-timestamp';
const SIGNATURE = /^[0-9a-f]{128}$/i;

/** Types of a webhook event. */
const EVENT_PING = 0;
/** Types of an interaction. */
const INTERACTION_PING = 1;
const interactions: Readonly<Record<number, string>> = {
  2: 'APPLICATION_COMMAND',
  3: 'MESSAGE_COMPONENT',
  4: 'APPLICATION_COMMAND_AUTOCOMPLETE',
  5: 'MODAL_SUBMIT',
};

/**
 * Discord's webhook events and interactions: `X-Signature-Ed25519` is the hex signature of timestamp and body. The secret
 * of the route is the application's public key, which anybody may know. So the route must name the scheme: no other may
 * use that text as a secret.
 */
export const discord: Scheme = {
  name: 'discord',
  header: 'X-Signature-Ed25519',
  claims: claimsHeader(HEADER),
  namedOnly: true,
  verify({ headers, body, nowMs }, { ed25519 }) {
    const signature = headerOf(headers, HEADER);
    const timestamp = headerOf(headers, TIMESTAMP);
    if (ed25519 === null || signature === null || !SIGNATURE.test(signature)) return false;
    if (!isFresh(timestamp, nowMs)) return false;
    const signed = Buffer.concat([Buffer.from(timestamp), body]);
    return verifySignature(null, signed, ed25519, Buffer.from(signature, 'hex'));
  },
  problem: ({ headers, nowMs }) =>
    timestampProblem('X-Signature-Timestamp', headerOf(headers, TIMESTAMP), nowMs),
  // Discord asks when somebody saves the address, and also sends wrong signatures then.
  handshake: (payload): Handshake | null => {
    const type = propertyOf(payload, 'type');
    if (type === EVENT_PING) return { status: 204, body: {} };
    // A webhook event has type 1, too.
    const isInteraction = propertyOf(payload, 'event') === undefined;
    return type === INTERACTION_PING && isInteraction
      ? { status: 200, body: { type: INTERACTION_PING } }
      : null;
  },
  provider: {
    // Interactions have one. Webhook events have none, and differ in their bodies (`timestamp`).
    id: ({ payload }) => {
      const text = nameAt(payload, 'id');
      return text === null ? null : { text };
    },
    idIsSigned: true,
    event: ({ payload }) =>
      nameAt(propertyOf(payload, 'event'), 'type') ??
      interactions[Number(propertyOf(payload, 'type'))] ??
      null,
    eventIsSigned: true,
  },
};
