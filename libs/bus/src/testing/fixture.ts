import { randomUUID } from 'node:crypto';
import type { Hint } from '@angelia/contracts';
import { pause } from '@angelia/waiting';
import { connectBus } from '../bus.ts';
import { isBusError } from '../errors.ts';
import type { Bus, BusOptions, OutgoingHint } from '../types.ts';
import type { NatsServer } from './nats-server.ts';

export const TYPE = 'session.created';
export const DURABLE = 'test-session_created';
export const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

export function outgoing(streamId: string = randomUUID(), more: Partial<OutgoingHint> = {}): OutgoingHint {
  return { stream_id: streamId, version: 1, type: TYPE, messageId: randomUUID(), ...more };
}

/** Keeps every line as the text that a logger would write. */
export class RecordingLogger {
  readonly lines: string[] = [];
  readonly debug = () => {};
  readonly info = (fields: object, message: string) => this.#keep('info', fields, message);
  readonly warn = (fields: object, message: string) => this.#keep('warn', fields, message);
  readonly error = (fields: object, message: string) => this.#keep('error', fields, message);

  #keep(level: string, fields: object, message: string): void {
    this.lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  }
}

export function busOn(server: NatsServer, more: Partial<BusOptions> = {}): Bus {
  return connectBus({ url: server.url, name: 'test', replicas: 1, logger: new RecordingLogger(), ...more });
}

/** Like a relay: publishes again until the bus takes it. */
export async function publishUntilTaken(
  bus: Bus,
  hints: OutgoingHint[],
): Promise<{ streamWasRecreated: boolean }> {
  for (;;) {
    try {
      return await bus.publishHints(hints);
    } catch (error) {
      if (!isBusError(error) || !error.retryable) throw error;
      await pause(50);
    }
  }
}

/** A handler that keeps what it gets. */
export function recordingHandler() {
  const seen: Hint[] = [];
  return {
    seen,
    streams: () => seen.map((hint) => hint.stream_id),
    handler: async (hint: Hint) => {
      seen.push(hint);
      return 'done' as const;
    },
  };
}
