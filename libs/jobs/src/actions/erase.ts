import { AngeliaError, erasedSubject, sessionId } from '@angelia/contracts';
import { eraseSession, isRebuilding } from '@angelia/event-log/admin';
import { agenda } from '@angelia/session';
import { pause } from '@angelia/waiting';
import { sessionFilterOf } from '../filter.ts';
import type { ItemResult } from '../job.ts';
import { type Action, DONE, skipped, type Tools } from './action.ts';
import { sessionsBy } from './select-sessions.ts';

/** Thrown if the views have not passed a session's last event yet, or are being rebuilt. Retry later. */
export class NotCaughtUp extends AngeliaError {
  readonly code = 'not_caught_up';
  readonly retryable = true;
  override readonly name = 'NotCaughtUp';
}

/** The views and the relay are some tenths of a second behind. A rebuild takes longer; then the caller tries again. */
const TRIES = 20;
const PAUSE_MS = 100;

/**
 * Removes every event and row of one session. The idempotency key of its delivery stays for its time.
 * @throws NotCaughtUp
 */
export async function eraseSettled(
  { log, sessions, bus }: Pick<Tools, 'log' | 'sessions'> & { readonly bus: Pick<Tools['bus'], 'ping'> },
  id: string,
): Promise<'erased' | 'unknown_session' | 'not_settled'> {
  const { state } = await sessions.load(sessionId(id));
  if (state.created === null) return 'unknown_session';
  if (!agenda(state).settled) return 'not_settled';
  for (let tries = 1; !(await eraseSession(log, id)); tries += 1) {
    if (tries >= TRIES)
      throw new NotCaughtUp('the views have not caught up with this session yet: try again');
    await pause(PAUSE_MS);
  }
  bus.ping(erasedSubject(id));
  return 'erased';
}

export const erase: Action = {
  ...sessionsBy(({ filter, before }) => ({
    ...sessionFilterOf(filter),
    isSettled: true,
    endedBefore: before,
  })),
  perform: async (item, work) => {
    const result = await eraseSettled(work, item).catch(async (error: unknown): Promise<ItemResult> => {
      // Only a rebuild is worth waiting for. If the views cannot show this session, they never will.
      if (!(error instanceof NotCaughtUp) || (await isRebuilding(work.log))) throw error;
      return { outcome: 'failed', reason: error.message };
    });
    if (typeof result === 'object') return result;
    // Gone already: by this job before its leader died, or by somebody else who wanted the same.
    return result === 'not_settled' ? skipped(result) : DONE;
  },
  fills: null,
};
