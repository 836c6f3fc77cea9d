import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';

export function isStreamNotFound(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
}

export function isConsumerNotFound(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound;
}

/** Nobody answers on the subject, or JetStream is off for the account. The library keeps this class to itself. */
export function isNotEnabled(error: unknown): error is Error {
  return error instanceof Error && error.name === 'JetStreamNotEnabled';
}
