import { isRetryable } from '@angelia/contracts';
import { LogClosed } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import { EventTooNew } from '@angelia/sessions';
import { pause } from '@angelia/waiting';

/** Pauses between tries while Postgres is away. Each try costs a statement, and the send slot stays taken meanwhile. */
const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 2_000;

/**
 * What was sent and is not recorded will be sent again. So this tries for as long as the process lives, whatever passing
 * reason prevents recording (Postgres is away, others append all the time). Nobody else can claim the output while
 * Postgres is away, and past the claim's deadline the domain decides who is right.
 */
export async function retryUntilRecorded<T>(
  record: () => Promise<T>,
  sessionId: string,
  logger: Logger,
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 2)) {
    try {
      return await record();
    } catch (error) {
      if (!canPass(error)) throw error;
      if (pauseMs === FIRST_PAUSE_MS) {
        logger.warn({ err: error, session_id: sessionId }, 'outcome not recorded yet; will retry');
      }
      await pause(pauseMs);
    }
  }
}

/** A closed log means that this process is going down. An event of a newer version stays unreadable for this process. */
function canPass(error: unknown): boolean {
  if (error instanceof LogClosed || error instanceof EventTooNew) return false;
  return isRetryable(error);
}
