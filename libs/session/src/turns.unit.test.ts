import { describe, expect, it } from '@jest/globals';
import type { SessionCommand } from './decide.ts';
import { answered, created, ended, modelAsked, runStarted, telegram, turn } from './sample-facts.ts';
import { given, START } from './testing.ts';
import { iso } from './time.ts';

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

  it('captures delivery, deadlines and the session that it continues', () => {
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

  it('is answered and ended at once where it is deliver_only', () => {
    given([])
      .when({ ...create, deliverOnly: true })
      .then([created({ deliver_only: true }), turn(1), answered('input 1', { generation: null }), ended()]);
  });

  it('is already so for the same delivery id and refused for another', () => {
    given([created(), turn(1)])
      .when(create)
      .thenNothing();
    given([created(), turn(1)])
      .when({ ...create, deliveryId: 'd-9' })
      .thenRefused('session_exists');
  });
});

describe('a further turn', () => {
  it('is queued behind the one under way', () => {
    given([created(), turn(1), runStarted(1)])
      .when(message)
      .then([turn(2)]);
  });

  it('is taken once per delivery id, also after it was answered', () => {
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

  it('is refused in a stream that holds no session', () => {
    given([]).when(message).thenRefused('unknown_session');
  });

  it('cancels the turn under way where the route says interrupt, and the session goes on', () => {
    const after = given([created(), turn(1), runStarted(1)])
      .when({ ...message, interrupt: true })
      .thenTypes(['run.cancelled', 'turn.requested']);
    expect(after.state.run).toBeNull();
    expect(after.state.ended).toBeNull();
    expect(after.state.turns.map((t) => t.turn)).toEqual([2]);
  });

  it('interrupts nothing that has not begun', () => {
    given([created(), turn(1)])
      .when({ ...message, interrupt: true })
      .thenTypes(['turn.requested']);
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

  it('loses the race with run.started', () => {
    given([created(), turn(1), runStarted(1)])
      .when(coalesce)
      .thenRefused('turn_started');
  });

  it('goes into the queued webhook behind a busy session', () => {
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
