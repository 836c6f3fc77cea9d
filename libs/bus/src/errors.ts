import { AngeliaError } from '@angelia/contracts';

/** What the bus throws. */
abstract class BusError extends AngeliaError {}

/** Thrown by every call that needs the server while it is away. Wait and call again: the bus reconnects by itself. */
export class BusUnavailable extends BusError {
  readonly code = 'bus_unavailable';
  readonly retryable = true;
  override readonly name = 'BusUnavailable';
}

/**
 * The server answers but cannot be used: it is too old, JetStream is off, or its limits do not hold the stream. Somebody
 * has to change the server or the config; the message says what. The bus tries again by itself, so the services need no
 * restart.
 */
export class BusUnusable extends BusError {
  readonly code = 'bus_unusable';
  readonly retryable = false;
  override readonly name = 'BusUnusable';
}

/** The NATS URL cannot be used. The message never quotes it, because it may hold a password. */
export class BusUrlInvalid extends AngeliaError {
  readonly code = 'bus_url_invalid';
  readonly retryable = false;
  override readonly name = 'BusUrlInvalid';
}

/** No stream takes hints: nobody listens on its subjects. The bus makes the stream again and publishes once more. */
export class NoStream extends AngeliaError {
  readonly code = 'bus_no_stream';
  readonly retryable = true;
  override readonly name = 'NoStream';
}

export function isBusError(error: unknown): error is BusError {
  return error instanceof BusError;
}

/** The message of whatever was thrown, for the end of one of our own sentences. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
