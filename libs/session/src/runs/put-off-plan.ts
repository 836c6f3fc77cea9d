import type { EventData } from '@angelia/contracts';
import type { OpenTurn, SessionState } from '../state.ts';
import { seconds } from '../time.ts';
import type { PutOffRun } from './decide-runs.ts';

/** `agents.*.retry` of the config. */
export interface RetryPolicy {
  /** Not empty. The last pause repeats. */
  readonly scheduleSeconds: readonly number[];
  readonly maxSeconds: number;
}

/** Why one model of the agent cannot be used now. */
export interface UnusableModel {
  readonly model: string;
  readonly code: string;
  readonly message: string;
  readonly reason: EventData<'run.put-off'>['reason'];
  readonly called: boolean;
  /** The model itself said when to come back (Retry-After). */
  readonly retryAfterMs: number | null;
  /** Nobody calls it before this much time has passed, because it is known to be down. */
  readonly pausedMs: number;
}

export type PutOffPlan =
  | {
      readonly action: 'put-off';
      readonly command: Omit<PutOffRun, 'generation'>;
      /** True for the put-off with which the wait becomes longer than a minute: the user is told once. */
      readonly tell: boolean;
    }
  /** The wait is over. The run fails. */
  | { readonly action: 'give-up'; readonly reason: EventData<'run.put-off'>['reason'] };

/**
 * Pauses vary by up to this share, so that sessions that were put off together do not come back together. They only get
 * longer, because the circuit of a model is closed again by the end of the scheduled pause.
 */
const JITTER = 0.2;
/**
 * A Retry-After of a second or more is honoured to the second. A model that always says "Retry-After: 0" gets a pause
 * nevertheless, and the stream does not grow by two events a second.
 */
const SHORTEST_HONOURED_MS = seconds(1);
const PAUSE_FOR_SHORTER_MS = seconds(5);
/** A shorter wait needs no message: the answer may be faster than the message. */
const TELL_AFTER_MS = seconds(60);

/**
 * What follows when none of the agent's models can be used (invariant an-outage-is-a-wait). The turn is tried again as soon
 * as one of them may be: a model that gave a Retry-After exactly then, the others by the schedule. The last try is at the
 * limit.
 *
 * @param random in [0, 1)
 */
export function planPutOff(
  turn: OpenTurn,
  models: readonly UnusableModel[],
  now: number,
  { scheduleSeconds, maxSeconds }: RetryPolicy,
  random: number,
): PutOffPlan {
  const { since = now, count = 0, retryAt: before = now } = turn.putOff ?? {};
  const reason = models.some((model) => model.reason === 'unavailable') ? 'unavailable' : 'configuration';
  const limit = since + seconds(maxSeconds);
  if (now >= limit) return { action: 'give-up', reason };
  const forShorter = Math.min(PAUSE_FOR_SHORTER_MS, seconds(scheduleSeconds[0] ?? 0));
  const pause = seconds(scheduleSeconds[Math.min(count, scheduleSeconds.length - 1)] ?? 0);
  const delays = models.map(({ retryAfterMs, pausedMs }) =>
    retryAfterMs === null
      ? Math.max(pause, pausedMs) + pause * JITTER * random
      : Math.max(retryAfterMs < SHORTEST_HONOURED_MS ? forShorter : retryAfterMs, pausedMs),
  );
  const retryAt = Math.min(limit, Math.ceil(now + Math.min(...delays)));
  return {
    action: 'put-off',
    command: {
      type: 'put-off-run',
      reason,
      retryAt,
      models: models.map(({ model, code, message, called }) => ({ model, code, message, called })),
    },
    tell: retryAt - since > TELL_AFTER_MS && before - since <= TELL_AFTER_MS,
  };
}

/** Whether the wait of the current turn has reached its limit: then it is tried once more, or fails. */
export function waitIsOver({ turns }: SessionState, now: number, { maxSeconds }: RetryPolicy): boolean {
  const putOff = turns[0]?.putOff ?? null;
  return putOff !== null && now >= putOff.since + seconds(maxSeconds);
}
