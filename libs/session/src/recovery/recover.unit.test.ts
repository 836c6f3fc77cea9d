import { describe, expect, it } from '@jest/globals';
import { type Given, given, START } from '../../testing/given-when-then.ts';
import {
  answered,
  asked,
  created,
  ended,
  interim,
  interrupted,
  modelAsked,
  processStarted,
  putOff,
  runStarted,
  toolFinished,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import { fact } from '../decision.ts';
import { iso } from '../time.ts';
import { type Recovery, type RecoveryPolicy, type RunLease, recover } from './recover.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const policy: RecoveryPolicy = { freshnessSeconds: 3600, maxAttempts: 3, maxInterruptionSeconds: 86_400 };
const verdict = (history: Given, now: number, lease: RunLease | null = null): Recovery =>
  recover(history.state, lease, now, policy);
const lease = (renewedAt: number, holder = 'runner#1'): RunLease => ({
  holder,
  renewedAt,
  expiresAt: renewedAt + 20_000,
});
const queued = given([created(), turn(1)]);
const running = given([created(), turn(1), runStarted(1)]);

describe('nothing', () => {
  it('for an unknown or ended session', () => {
    expect(verdict(given([]), START)).toEqual({ action: 'nothing', reason: 'unknown' });
    expect(verdict(running.and([answered(), ended()]), START)).toEqual({
      action: 'nothing',
      reason: 'ended',
    });
  });

  it('C1: never a run for a turn that has its final response', () => {
    const waiting = running.and([
      modelAsked(['c-1']),
      toolStarted('c-1'),
      processStarted('p', { wait_deadline: iso(START + DAY) }),
      toolFinished('c-1'),
      answered(),
    ]);
    for (const now of [START + 5000, START + HOUR, START + DAY, START + 9 * DAY]) {
      expect(verdict(waiting, now).action).not.toBe('resume');
    }
  });
});

describe('a turn that never started', () => {
  it('C3: is run however long the outage was, and not as a resumed run', () => {
    expect(verdict(queued, START + 30 * DAY)).toEqual({
      action: 'resume',
      turn: 1,
      resumed: false,
      attempt: 1,
      takeover: false,
    });
  });

  it('is not run before start_after', () => {
    const coalescing = given([created({ start_after: iso(START + 30_000) }), turn(1)]);
    expect(verdict(coalescing, START + 29_999)).toEqual({
      action: 'wait',
      until: START + 30_000,
      reason: 'start_after',
    });
    expect(verdict(coalescing, START + 30_000)).toMatchObject({ action: 'resume' });
  });

  it('expires after the queue deadline of its route', () => {
    const limited = given([created({ queue_deadline: iso(START + 60_000) }), turn(1)]);
    expect(verdict(limited, START + 59_999)).toMatchObject({ action: 'resume' });
    expect(verdict(limited, START + 60_000)).toEqual({ action: 'expire', reason: 'queue', turn: 1 });
  });

  it('each turn has a deadline of its own', () => {
    const history = given([
      created({ queue_deadline: iso(START + 60_000) }),
      turn(1),
      runStarted(1),
      turn(2, { queue_deadline: iso(START + HOUR) }),
      turn(3),
      answered(),
    ]);
    expect(verdict(history, START + HOUR - 1)).toMatchObject({ action: 'resume', turn: 2 });
    expect(verdict(history, START + HOUR)).toMatchObject({ action: 'expire', reason: 'queue', turn: 2 });
  });

  it('is not held back by the lease of an earlier run', () => {
    expect(verdict(queued, START + 5000, lease(START))).toMatchObject({ action: 'resume' });
  });
});

describe('a run with a lease', () => {
  it('is left alone: slow is not dead', () => {
    const renewed = START + 5 * HOUR;
    expect(verdict(running, renewed + 1000, lease(renewed))).toEqual({
      action: 'wait',
      until: renewed + 20_000,
      reason: 'lease',
    });
  });

  it('C2: is taken over if its lease expired and its last sign of life is fresh', () => {
    expect(verdict(running, running.now + 20_000, lease(running.now))).toEqual({
      action: 'resume',
      turn: 1,
      resumed: true,
      attempt: 2,
      takeover: true,
    });
    expect(verdict(running, running.now + HOUR)).toMatchObject({ action: 'resume' });
  });

  it('C3: is not taken over if its last sign of life is too old, however often things restart', () => {
    for (let restart = 0; restart < 5; restart += 1) {
      const now = running.now + HOUR + 1 + restart * 1000;
      expect(verdict(running, now)).toEqual({ action: 'expire', reason: 'stale', turn: 1 });
    }
  });

  it('the lease of its own runner is a sign of life, the lease of another is not', () => {
    const renewed = running.now + HOUR;
    const now = renewed + HOUR;
    expect(verdict(running, now, lease(renewed))).toMatchObject({ action: 'resume' });
    expect(verdict(running, now, lease(renewed, 'runner#2'))).toMatchObject({ action: 'expire' });
  });

  it('a missing timestamp never counts as fresh', () => {
    const head = running.state.turns[0];
    if (head === undefined) throw new Error('no turn');
    for (const lastSignAt of [null, Number.NaN]) {
      const state = { ...running.state, turns: [{ ...head, lastSignAt }] };
      expect(recover(state, null, START, policy)).toMatchObject({ action: 'expire', reason: 'stale' });
      const broken = { ...lease(START), renewedAt: Number.NaN };
      expect(recover(state, broken, START + HOUR, policy)).toMatchObject({
        action: 'expire',
        reason: 'stale',
      });
    }
  });

  it('every event of the run is a sign of life', () => {
    const at = START + HOUR;
    for (const event of [modelAsked(['c-1']), interim('Still working')]) {
      expect(verdict(running.and([{ at, fact: event }]), at + HOUR)).toMatchObject({ action: 'resume' });
    }
  });

  it('events of deliveries are not signs of life', () => {
    const history = running.and([
      interim('Still working'),
      { at: START + HOUR, fact: fact('delivery.dropped', { output: 4, reason: 'x' }) },
    ]);
    expect(verdict(history, START + 2 * HOUR)).toMatchObject({ action: 'expire', reason: 'stale' });
  });
});

describe('attempts', () => {
  it('C7: are counted by run.started, and at the cap the turn fails', () => {
    const twice = running.and([runStarted(2, { attempt: 2 })]);
    expect(verdict(twice, twice.now)).toMatchObject({ action: 'resume', attempt: 3 });
    const thrice = twice.and([runStarted(3, { attempt: 3 })]);
    expect(verdict(thrice, thrice.now)).toEqual({ action: 'expire', reason: 'attempts', turn: 1 });
  });

  it.each([
    ['a model answer', [modelAsked(['c-1'], { generation: 3 })]],
    ['the result of a tool', [modelAsked(['c-1'], { generation: 3 }), runStarted(4), toolFinished('c-1')]],
  ])('C7: are reset by %s', (_what, progress) => {
    const history = running.and([runStarted(2), runStarted(3), ...progress]);
    expect(verdict(history, history.now)).toMatchObject({ action: 'resume', attempt: 1 });
  });

  it('C4: are not reset by a start or an interim status', () => {
    const history = running.and([
      interim('switching'),
      runStarted(2),
      interim('switching'),
      runStarted(3),
      interim('switching'),
    ]);
    expect(verdict(history, history.now)).toMatchObject({ action: 'expire', reason: 'attempts' });
  });

  it('interrupted runs do not count', () => {
    let history = running;
    for (let generation = 1; generation < 9; generation += 1) {
      history = history.and([
        interrupted(generation, { reason: 'infrastructure' }),
        runStarted(generation + 1),
      ]);
    }
    expect(verdict(history, history.now)).toMatchObject({ action: 'resume', attempt: 2 });
  });
});

describe('an interrupted run', () => {
  it('C6: is resumed at once and waits for no lease', () => {
    const drained = running.and([interrupted(1)]);
    expect(verdict(drained, drained.now, lease(drained.now))).toEqual({
      action: 'resume',
      turn: 1,
      resumed: true,
      attempt: 1,
      takeover: false,
    });
  });

  it('is resumed after the freshness window, up to the maximum length of an interruption', () => {
    const drained = running.and([interrupted(1)]);
    expect(verdict(drained, drained.now + DAY)).toMatchObject({ action: 'resume' });
    expect(verdict(drained, drained.now + DAY + 1)).toEqual({
      action: 'expire',
      reason: 'interrupted',
      turn: 1,
    });
  });
});

describe('a run that an outage interrupted', () => {
  it('was interrupted when its work stopped, not when that could be recorded', () => {
    const said = running.and([interrupted(1, { reason: 'infrastructure', silent_seconds: 86_400 })]);
    expect(verdict(said, said.now)).toMatchObject({ action: 'resume', attempt: 1 });
    expect(verdict(said, said.now + 1)).toEqual({ action: 'expire', reason: 'interrupted', turn: 1 });
  });
});

describe('a run that was put off', () => {
  const retryAt = START + 5 * HOUR;
  const waiting = running.and([putOff(1, retryAt)]);

  it('waits for its retry, and then goes on, not as a resumed run and not as another attempt', () => {
    expect(verdict(waiting, retryAt - 1)).toEqual({ action: 'wait', until: retryAt, reason: 'model' });
    expect(verdict(waiting, retryAt)).toEqual({
      action: 'resume',
      turn: 1,
      resumed: false,
      attempt: 1,
      takeover: false,
    });
  });

  it('C3: is not stale because it waited: freshness counts from the retry that was due', () => {
    expect(verdict(waiting, retryAt + HOUR)).toMatchObject({ action: 'resume' });
    expect(verdict(waiting, retryAt + HOUR + 1)).toEqual({ action: 'expire', reason: 'stale', turn: 1 });
  });

  it('goes on before its retry if a model is back', () => {
    const back = recover(waiting.state, null, START + HOUR, { ...policy, modelIsBack: true });
    expect(back).toMatchObject({ action: 'resume', resumed: false });
    // Nothing else is hurried by that.
    const coalescing = given([created({ start_after: iso(START + HOUR) }), turn(1)]);
    expect(recover(coalescing.state, null, START, { ...policy, modelIsBack: true }).action).toBe('wait');
  });

  it('C7: does not use up attempts, however often it is put off', () => {
    let history = running;
    for (let generation = 1; generation < 20; generation += 1) {
      history = history.and([putOff(generation, START), runStarted(generation + 1)]);
    }
    history = history.and([putOff(20, START)]);
    expect(verdict(history, history.now)).toMatchObject({ action: 'resume', attempt: 1 });
  });

  it('stays a resumed run if it was one: the model has not been told yet', () => {
    const history = running.and([runStarted(2, { resumed: true, attempt: 2 }), putOff(2, START)]);
    expect(verdict(history, history.now)).toMatchObject({ action: 'resume', resumed: true, attempt: 2 });
  });

  it('whose retry is interrupted or lost is resumed as any other', () => {
    const drained = waiting.and([{ at: retryAt, fact: runStarted(2) }, interrupted(2)]);
    expect(verdict(drained, drained.now)).toMatchObject({ action: 'resume', resumed: true, attempt: 1 });
    const lost = waiting.and([{ at: retryAt, fact: runStarted(2) }]);
    expect(verdict(lost, lost.now)).toMatchObject({ action: 'resume', takeover: true, attempt: 2 });
  });
});

describe('a clarification', () => {
  const deadline = START + HOUR;
  const open = running.and([modelAsked(['ask-1']), asked(deadline)]);

  it('C5: waits until its deadline, then expires', () => {
    expect(verdict(open, deadline - 1)).toEqual({ action: 'wait', until: deadline, reason: 'clarification' });
    expect(verdict(open, deadline)).toEqual({ action: 'expire', reason: 'clarification', turn: 1 });
  });

  it('goes on once it is answered, not as a resumed run: nothing was lost', () => {
    const answer = fact('clarification.answered', { clarification_id: 'q-1', answer: 'x', by: 'link' });
    const history = open.and([answer]);
    expect(verdict(history, history.now)).toEqual({
      action: 'resume',
      turn: 1,
      resumed: false,
      attempt: 1,
      takeover: false,
    });
  });

  it('with on_timeout continue goes on after its expiry was recorded', () => {
    const history = running.and([modelAsked(['ask-1']), asked(deadline, { on_timeout: 'continue' })]);
    expect(verdict(history, deadline)).toEqual({ action: 'expire', reason: 'clarification', turn: 1 });
    const after = history
      .when({ type: 'expire', reason: 'clarification', turn: 1, generation: 1 })
      .thenTypes(['clarification.timed-out']);
    expect(verdict(after, after.now)).toMatchObject({ action: 'resume', resumed: false });
  });
});

describe('waiting for processes', () => {
  const waiting = (data: Parameters<typeof processStarted>[1] = {}) =>
    running.and([
      modelAsked(['c-1']),
      toolStarted('c-1'),
      processStarted('p', { wait_deadline: iso(START + HOUR), ...data }),
      toolFinished('c-1'),
      answered(),
    ]);

  it('ends at the deadline: the user is told once and the session ends', () => {
    const history = waiting();
    expect(verdict(history, START + HOUR - 1)).toEqual({
      action: 'wait',
      until: START + HOUR,
      reason: 'process',
    });
    expect(verdict(history, START + HOUR)).toEqual({ action: 'expire', reason: 'process', turn: null });
    const after = history
      .when({ type: 'expire', reason: 'process', turn: null, generation: 1 })
      .thenTypes(['turn.requested', 'session.final-response', 'session.ended']);
    expect(after.state.ended?.outcome).toBe('expired');
    expect(after.state.outputs).toHaveLength(2);
  });

  it('ends even if the process has no deadline of its own', () => {
    const history = waiting({ wait_deadline: null });
    expect(verdict(history, START + 2 * DAY)).toMatchObject({ action: 'expire', reason: 'process' });
  });

  it('ends without a message if only patterns were watched', () => {
    waiting({ notify_on_complete: false, watch_patterns: ['x'] })
      .when({ type: 'expire', reason: 'process', turn: null, generation: 1 })
      .thenTypes(['session.ended']);
  });
});

it('C8: a message that arrives while a run is lost is queued behind it', () => {
  const history = running.and([turn(2)]);
  expect(verdict(history, history.now)).toMatchObject({ action: 'resume', turn: 1, takeover: true });
});

it('folds the events if it is given events', () => {
  expect(recover(queued.events, null, START, policy)).toEqual(verdict(queued, START));
});
