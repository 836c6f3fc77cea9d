import { describe, it } from '@jest/globals';
import { given } from '../../testing/given-when-then.ts';
import { answered, created, ended, runStarted, turn } from '../../testing/sample-facts.ts';
import type { SessionCommand } from '../decide.ts';
import { fact } from '../decision.ts';

const expire = (reason: 'stale' | 'attempts' | 'interrupted' | 'queue', generation = 1): SessionCommand => ({
  type: 'expire',
  reason,
  turn: 1,
  generation,
  text: 'Sorry.',
});
const running = given([created(), turn(1), runStarted(1)]);

describe('expiry tells the user once and ends the session', () => {
  it.each([
    ['stale', 'expired'],
    ['interrupted', 'expired'],
    ['attempts', 'failed'],
  ] as const)('C3, C7: %s is %s', (reason, outcome) => {
    const after = running
      .when(expire(reason))
      .then([
        fact('run.failed', { generation: 1, turn: 1, code: reason, message: `expired: ${reason}` }),
        answered('Sorry.', { outcome }),
        ended({ outcome }),
      ]);
    after.when(expire(reason)).thenRefused('session_ended');
  });

  it('a turn that never had a run expires in the queue', () => {
    given([created(), turn(1)])
      .when(expire('queue', 0))
      .then([
        fact('run.failed', { generation: null, turn: 1, code: 'queue', message: 'expired: queue' }),
        answered('Sorry.', { generation: null, outcome: 'expired' }),
        ended({ outcome: 'expired' }),
      ]);
  });

  it('the session goes on with the next turn', () => {
    running
      .and([turn(2)])
      .when(expire('stale'))
      .thenTypes(['run.failed', 'session.final-response']);
  });

  it('the verdict is void if a run started since', () => {
    running
      .and([runStarted(2)])
      .when(expire('stale'))
      .thenRefused('stale_generation');
  });

  it('the verdict is void if the turn was answered since', () => {
    running
      .and([turn(2), answered()])
      .when(expire('stale'))
      .thenRefused('not_next_turn');
  });
});
