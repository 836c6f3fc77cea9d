import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/transport-node';

export function isStreamNotFound(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
}

export function isConsumerNotFound(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound;
}

/**
 * A cluster without a leader (of the stream, or of all streams). It elects one, or waits for a majority of its servers.
 * What is stored is intact. The library has no names for these codes.
 */
const LEADERLESS: ReadonlySet<number> = new Set([10_008, 10_009]);

export function isLeaderless(error: unknown): boolean {
  return error instanceof JetStreamApiError && LEADERLESS.has(error.code);
}

/** Nobody answered in time: a frozen server, or a stream or consumer without a leader. */
export function isTimeout(error: unknown): boolean {
  return error instanceof TimeoutError;
}

/** Nobody answers on the subject, or JetStream is off for the account. The library does not export this class. */
export function isNotEnabled(error: unknown): error is Error {
  return error instanceof Error && error.name === 'JetStreamNotEnabled';
}
