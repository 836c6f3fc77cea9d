import type { EventData } from '@angelia/contracts';
import { type StateDraft, shortened } from '../state.ts';
import { ms, seconds } from '../time.ts';
import { changeTurn, closeTurn } from '../turns/evolve-turns.ts';

export function applyRunStarted(draft: StateDraft, data: EventData<'run.started'>, at: number): void {
  draft.generation = data.generation;
  draft.run = {
    generation: data.generation,
    turn: data.turn,
    runner: data.runner,
    resumed: data.resumed,
    attempt: data.attempt,
    startedAt: at,
    statuses: 0,
    compressions: 0,
  };
  changeTurn(draft, data.turn, (turn) => ({
    startedAt: turn.startedAt ?? at,
    lastSignAt: at,
    attempts: turn.attempts + 1,
    interruptedAt: null,
    ...(turn.putOff?.waiting ? { putOff: { ...turn.putOff, waiting: false } } : {}),
  }));
}

/** The message quotes every model of the agent, each with at most 500 characters. */
const FAILURE_LENGTH = 1_000;

export function applyRunFailed(draft: StateDraft, data: EventData<'run.failed'>): void {
  if (draft.run?.turn === data.turn) draft.run = null;
  draft.failure = { code: data.code, message: shortened(data.message, FAILURE_LENGTH) };
}

export function applyRunCancelled(draft: StateDraft, data: EventData<'run.cancelled'>): void {
  draft.failure = null;
  closeTurn(draft, data.turn);
}

export function applyRunInterrupted(draft: StateDraft, data: EventData<'run.interrupted'>, at: number): void {
  draft.run = null;
  changeTurn(draft, data.turn, (turn) => ({
    // The time when the work stopped, not when the runner could record that. Otherwise an outage of two days would look
    // like an interruption of no length.
    interruptedAt: at - seconds(data.silent_seconds ?? 0),
    // The interrupted attempt does not count.
    attempts: Math.max(0, turn.attempts - 1),
  }));
}

export function applyRunPutOff(draft: StateDraft, data: EventData<'run.put-off'>, at: number): void {
  const resumed = draft.run?.resumed ?? false;
  draft.run = null;
  changeTurn(draft, data.turn, ({ putOff, attempts }) => ({
    putOff: {
      since: putOff?.since ?? at,
      count: (putOff?.count ?? 0) + 1,
      retryAt: ms(data.retry_at),
      waiting: true,
      reason: data.reason,
      models: data.models.map(({ model, code }) => ({ model, code })),
      resumed,
    },
    lastSignAt: at,
    // Not the turn's fault, so the attempt does not count.
    attempts: Math.max(0, attempts - 1),
  }));
}
