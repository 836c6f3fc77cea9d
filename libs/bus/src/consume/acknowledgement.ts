import { nanos } from '@nats-io/transport-node';
import type { HintVerdict } from '../types.ts';

const ACK = new TextEncoder().encode('+ACK');
export const IN_PROGRESS = new TextEncoder().encode('+WPI');
/** Ends redelivery like an ack, but says that the message was not handled. */
export const TERMINATE = new TextEncoder().encode('+TERM');
/** The server hands it to the next consumer that pulls, at once. */
export const GIVE_BACK = new TextEncoder().encode('-NAK');

/** The first retry is quick: most failures are short. */
const FIRST_RETRY_MS = 250;
/** Long enough not to overload what is coming back, short enough that nobody waits for it. */
const LAST_RETRY_MS = 30_000;

export function ackPayload(verdict: HintVerdict): Uint8Array | string {
  return verdict === 'done' ? ACK : retryIn(verdict.retryInMs);
}

export function retryIn(ms: number): string {
  return `-NAK {"delay":${nanos(Math.max(1, Math.round(ms)))}}`;
}

/** For a handler that threw. Doubles with each delivery. Jittered, so that a backlog does not come back as one wave. */
export function backoffMs(deliveries: number): number {
  const full = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(deliveries - 1, 20));
  return full * (0.75 + Math.random() / 4);
}

/** From the ack subject, `$JS.ACK.<stream>.<consumer>.<deliveries>...`; newer servers put domain and account first. */
export function deliveriesOf(reply: string | undefined): number {
  const tokens = reply?.split('.') ?? [];
  const deliveries = Number(tokens.length <= 9 ? tokens[4] : tokens[6]);
  return Number.isInteger(deliveries) && deliveries > 0 ? deliveries : 1;
}
