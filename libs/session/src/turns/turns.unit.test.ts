import { describe, expect, it } from '@jest/globals';
import { given, START } from '../../testing/given-when-then.ts';
import {
  answered,
  created,
  ended,
  modelAsked,
  runStarted,
  telegram,
  turn,
} from '../../testing/sample-facts.ts';
import { decide, type SessionCommand } from '../decide.ts';
import { iso } from '../time.ts';
import { windowEnd } from './decide-turns.ts';

const create: SessionCommand = {
  type: 'create-session',
  route: 'alerts',
  event: 'alert',
  deliveryId: 'd-1',
  title: 'An alert',
  agent: 'default',
  deliver: telegram,
  input: 'input 1',
};
const message: SessionCommand = {
  type: 'request-turn',
  source: 'message',
  input: 'input 2',
  deliveryId: 'd-2',
};

describe('creating a session', () => {
  it('begins with its first turn, in one decision', () => {
    given([])
      .when(create)
      .then([created(), turn(1)]);
  });

  it('records delivery, deadlines and the session that it continues', () => {
    given([])
      .when({
        ...create,
        startAfter: START,
        queueDeadline: START + 1,
        continues: 'old',
        sessionKey: 'k',
        toolsets: ['clarify'],
        interim: 'off',
        source: 'message',
        history: [{ role: 'user', content: 'before' }],
      })
      .then([
        created({
          start_after: iso(START),
          queue_deadline: iso(START + 1),
          continues: 'old',
          session_key: 'k',
          toolsets: ['clarify'],
          interim: 'off',
        }),
        turn(1, { source: 'message', history: [{ role: 'user', content: 'before' }] }),
      ]);
  });

  it('answers and ends a deliver_only session at once', () => {
    given([])
      .when({ ...create, deliverOnly: true })
      .then([created({ deliver_only: true }), turn(1), answered('input 1', { generation: null }), ended()]);
  });

  it('is already done for the same delivery id and refused for another', () => {
    given([created(), turn(1)])
      .when(create)
      .thenNothing();
    given([created(), turn(1)])
      .when({ ...create, deliveryId: 'd-9' })
      .thenRefused('session_exists');
  });
});

describe('a further turn', () => {
  it('is queued behind the current one', () => {
    given([created(), turn(1), runStarted(1)])
      .when(message)
      .then([turn(2)]);
  });

  it('is taken once per delivery id, even after it was answered', () => {
    const after = given([created(), turn(1)]).when(message).after;
    after.when(message).thenNothing();
    after
      .and([runStarted(1), answered()])
      .when(message)
      .thenNothing();
    after
      .and([runStarted(1), answered(), runStarted(2, { turn: 2 }), answered('b', { turn: 2 }), ended()])
      .when(message)
      .thenNothing();
  });

  it('is refused after the end: the caller opens a continuation', () => {
    given([created(), turn(1), runStarted(1), answered(), ended()])
      .when(message)
      .thenRefused('session_ended');
  });

  it('is refused in an empty stream', () => {
    given([]).when(message).thenRefused('unknown_session');
  });

  it('cancels the current turn if the route says interrupt, and the session goes on', () => {
    const after = given([created(), turn(1), runStarted(1)])
      .when({ ...message, interrupt: true })
      .thenTypes(['run.cancelled', 'turn.requested']);
    expect(after.state.run).toBeNull();
    expect(after.state.ended).toBeNull();
    expect(after.state.turns.map((t) => t.turn)).toEqual([2]);
  });

  it('does not interrupt a turn that has not started', () => {
    given([created(), turn(1)])
      .when({ ...message, interrupt: true })
      .thenTypes(['turn.requested']);
  });
});

describe('a webhook whose payload lacks values', () => {
  const missing = {
    placeholders: Array.from({ length: 30 }, (_, n) => `{p${n}}`),
    onMissing: 'keep',
  } as const;

  it('says so on its turn, with a bounded list', () => {
    const after = given([])
      .when({ ...create, missing })
      .thenTypes(['session.created', 'turn.requested', 'webhook.placeholder-missing']);
    expect(after.state.turns).toHaveLength(1);
    const decision = decide(after.state, { ...message, missing });
    if (!decision.ok) throw new Error(decision.reason);
    expect(decision.events.map(({ type }) => type)).toEqual([
      'turn.requested',
      'webhook.placeholder-missing',
    ]);
    expect(decision.events[1]?.data).toEqual({
      turn: 2,
      delivery_id: 'd-2',
      placeholders: missing.placeholders.slice(0, 20),
      on_missing: 'keep',
    });
  });
});

describe('coalescing', () => {
  const coalesce: SessionCommand = {
    type: 'coalesce-webhook',
    deliveryId: 'd-2',
    input: 'newer',
    startAfter: START + 60_000,
  };

  it('replaces the input of a turn that has not started and moves its start', () => {
    const after = given([created({ start_after: iso(START + 30_000) }), turn(1)])
      .when(coalesce)
      .thenTypes(['webhook.coalesced']);
    expect(after.state.turns[0]).toMatchObject({ superseded: 1, startAfter: START + 60_000 });
    after.when(coalesce).thenNothing();
  });

  it('takes an id again if the append has a key: equal bodies are not one delivery for ever', () => {
    given([created(), turn(1)])
      .when({ ...coalesce, keyed: true })
      .after.when({ ...coalesce, keyed: true })
      .thenTypes(['webhook.coalesced']);
  });

  it('moves the queue deadline: time in the window is not time in the queue', () => {
    const start = [created({ queue_deadline: iso(START + 40_000) }), turn(1)];
    const moved = given(start).when({ ...coalesce, queueDeadline: START + 70_000 }).after;
    expect(moved.state.turns[0]?.queueDeadline).toBe(START + 70_000);
    const kept = given(start).when(coalesce).after;
    expect(kept.state.turns[0]?.queueDeadline).toBe(START + 40_000);
  });

  it('ends the window one whole window after the last webhook, up to the maximum wait, and never earlier', () => {
    const window = { seconds: 30, maxWaitSeconds: 100 };
    const first = { requestedAt: START, startAfter: START + 30_000 };
    expect(windowEnd(first, START + 10_000, window)).toBe(START + 40_000);
    expect(windowEnd({ ...first, startAfter: START + 95_000 }, START + 90_000, window)).toBe(START + 100_000);
    expect(windowEnd(first, START + 500_000, window)).toBe(START + 100_000);
    // The clocks of two replicas differ: the window does not shrink.
    expect(windowEnd(first, START - 5_000, window)).toBe(START + 30_000);
  });

  it('loses the race with run.started', () => {
    given([created(), turn(1), runStarted(1)])
      .when(coalesce)
      .thenRefused('turn_started');
  });

  it('replaces the queued webhook of a busy session', () => {
    const { state } = given([
      created(),
      turn(1),
      runStarted(1),
      modelAsked(['c-1']),
      turn(2, { source: 'webhook' }),
    ])
      .when({ ...coalesce, deliveryId: 'd-3' })
      .thenTypes(['webhook.coalesced']);
    expect(state.turns.map((t) => t.superseded)).toEqual([0, 1]);
  });
});
