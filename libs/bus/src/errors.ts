/** Thrown by every call that needs the server while it is away. Wait and call again: the bus reconnects by itself. */
export class BusUnavailable extends Error {
  readonly code = 'bus_unavailable';
  readonly retryable = true;
  override readonly name = 'BusUnavailable';
}

/**
 * The server answers, and cannot be used: too old, JetStream switched off, or limits that do not hold the stream.
 * Someone has to change the server or the config; the message says what. The bus looks again by itself,
 * so that a mended server needs no restart of the services.
 */
export class BusUnusable extends Error {
  readonly code = 'bus_unusable';
  readonly retryable = false;
  override readonly name = 'BusUnusable';
}

export type BusError = BusUnavailable | BusUnusable;

export function isBusError(error: unknown): error is BusError {
  return error instanceof BusUnavailable || error instanceof BusUnusable;
}

/** The message of whatever was thrown, for the end of one of our own sentences. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
