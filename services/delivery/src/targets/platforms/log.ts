import type { SendRequest, SendResult, Target } from '../target.ts';

/** Writes the one line in the service's log that is a delivery. */
export interface LogLine {
  info(fields: Record<string, unknown>, message: string): void;
}

/** Writes the output as an info log line. Used only if a route says so, never instead of another target. */
export function logTarget(logger: LogLine): Target {
  return {
    name: 'log',
    // A second line says `possible_duplicate` and does no harm.
    idempotent: true,
    destination: () => ({ name: 'log', chat: null }),
    compose: ({ text }) => [{ text }],
    async send({ message, window }: SendRequest): Promise<SendResult> {
      if (!window.mayBegin()) return { kind: 'retryable', reason: 'not written: the claim ran out of time' };
      logger.info(
        {
          session_id: message.sessionId,
          route: message.route,
          delivery_id: message.deliveryId,
          version: message.version,
          type: message.type,
          possible_duplicate: message.possibleDuplicate,
          text: message.text,
        },
        'output',
      );
      return { kind: 'taken', receipt: null };
    },
    close: async () => {},
  };
}
