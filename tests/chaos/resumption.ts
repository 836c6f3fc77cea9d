import type { LoggedEvent } from './history.ts';
import { type Violations, violation } from './violation.ts';

/** The default of `resume.freshness_seconds`. No call or command of the load is silent for that long. */
const FRESH_MS = 3_600_000;
/** Progress of a turn: attempts count from zero again. */
const PROGRESS = ['model.responded', 'tool.finished', 'context.compressed', 'clarification.requested'];
const CLOSES_QUESTION = ['clarification.answered', 'clarification.timed-out', 'clarification.superseded'];

/** The state of a turn, from the events so far. */
interface Turn {
  attempts: number;
  /** The state of its last run. */
  run: 'none' | 'open' | 'interrupted' | 'put-off' | 'over';
  /** Whether its last run was a resumed one. The run after a put-off one is the same again. */
  resumed: boolean;
  signAt: number;
}

/**
 * Invariants resume-is-derived and no-phantom-turns, as far as the events show them (they do not show leases): which attempt a
 * run is, whether it is a resumed one, and whether it should not have been resumed.
 */
export function* resumeIsDerived({
  id,
  events,
}: {
  readonly id: string;
  readonly events: readonly LoggedEvent[];
}): Violations {
  const turns = new Map<unknown, Turn>();
  let underWay: Turn | undefined;
  for (const { type, version, data, recordedAt } of events) {
    if (type === 'run.started') {
      underWay = turns.get(data.turn) ?? { attempts: 0, run: 'none', resumed: false, signAt: recordedAt };
      turns.set(data.turn, underWay);
      const lost = underWay.run === 'open' || underWay.run === 'interrupted';
      const resumed = lost || (underWay.run === 'put-off' && underWay.resumed);
      const attempt = underWay.attempts + 1;
      if (data.attempt !== attempt || data.resumed !== resumed) {
        const says = `attempt ${data.attempt}${data.resumed ? ', resumed' : ''}`;
        const is = `attempt ${attempt}${resumed ? ', resumed' : ''}`;
        yield violation(
          'resume-is-derived',
          id,
          `run.started (${version}) says ${says}, but the events say ${is}`,
        );
      }
      if (underWay.run === 'open' && recordedAt - underWay.signAt > FRESH_MS) {
        yield violation(
          'no-phantom-turns',
          id,
          `run.started (${version}): there was no sign of life for too long before it`,
        );
      }
      underWay.attempts = attempt;
      underWay.run = 'open';
      underWay.resumed = resumed;
    } else if (PROGRESS.includes(type) || CLOSES_QUESTION.includes(type)) {
      const turn = CLOSES_QUESTION.includes(type) ? underWay : turns.get(data.turn);
      if (turn !== undefined) turn.attempts = 0;
      if (turn !== undefined && type === 'clarification.requested') turn.run = 'over';
    } else if (type === 'run.interrupted' && underWay !== undefined) {
      underWay.attempts = Math.max(0, underWay.attempts - 1);
      underWay.run = 'interrupted';
    } else if (type === 'run.put-off' && underWay !== undefined) {
      underWay.attempts = Math.max(0, underWay.attempts - 1);
      underWay.run = 'put-off';
    } else if (type === 'run.cancelled' || type === 'session.final-response') {
      const turn = turns.get(data.turn);
      if (turn !== undefined) turn.run = 'over';
    }
    if (underWay !== undefined && !type.startsWith('delivery.')) underWay.signAt = recordedAt;
  }
}

/** The wait of a turn for a model. A longer one is told, once. */
const TOLD_AFTER_MS = 60_000;

/** Invariant an-outage-is-a-wait: put off to a time to come, and told at most once, if it is long. */
export function* anOutageIsAWait({
  id,
  events,
}: {
  readonly id: string;
  readonly events: readonly LoggedEvent[];
}): Violations {
  const waits = new Map<unknown, { since: number | null; told: number }>();
  let startedAt = 0;
  for (const { type, version, data, recordedAt } of events) {
    const wait = waits.get(data.turn) ?? { since: null, told: 0 };
    if (type === 'run.started') startedAt = recordedAt;
    if (type === 'session.interim-status' && data.kind === 'waiting') {
      waits.set(data.turn, { ...wait, told: wait.told + 1 });
    } else if (type === 'run.put-off') {
      const since = wait.since ?? recordedAt;
      waits.set(data.turn, { ...wait, since });
      const retryAt = Date.parse(String(data.retry_at));
      const wrong = (what: string) =>
        violation('an-outage-is-a-wait', id, `run.put-off (${version}): ${what}`);
      // It counts from the failure, which is older than its record if Postgres was away meanwhile.
      if (!(retryAt > startedAt)) yield wrong(`until ${data.retry_at}, which is over`);
      if (retryAt - since > TOLD_AFTER_MS && wait.told === 0) yield wrong('nobody was told of the long wait');
      if (wait.told > 1) yield wrong(`the user was told ${wait.told} times`);
    } else if (type === 'model.responded' || type === 'context.compressed') {
      waits.delete(data.turn);
    }
  }
}

/** Invariant no-silent-downgrade: a failed turn tells the user. */
export function* failuresAreTold({
  id,
  events,
}: {
  readonly id: string;
  readonly events: readonly LoggedEvent[];
}): Violations {
  for (const failed of events.filter(({ type }) => type === 'run.failed')) {
    const told = events.some(
      ({ type, version, data }) =>
        type === 'session.final-response' &&
        version > failed.version &&
        data.turn === failed.data.turn &&
        data.outcome !== 'succeeded' &&
        data.silent !== true,
    );
    if (!told) {
      yield violation('no-silent-downgrade', id, `turn ${failed.data.turn} failed, and nobody was told`);
    }
  }
}
