import { describe, expect, it } from '@jest/globals';
import { given, START } from '../../testing/given-when-then.ts';
import { created, modelAsked, putOff, runStarted, turn } from '../../testing/sample-facts.ts';
import type { OpenTurn } from '../state.ts';
import { planPutOff, type UnusableModel, waitIsOver } from './put-off-plan.ts';

const policy = { scheduleSeconds: [5, 15, 60], maxSeconds: 600 };
const busy: UnusableModel = {
  model: 'main',
  code: 'unavailable',
  message: 'm',
  reason: 'unavailable',
  called: true,
  retryAfterMs: null,
  pausedMs: 0,
};
const misconfigured: UnusableModel = { ...busy, code: 'unauthorized', reason: 'configuration' };

/** A turn that was put off at these seconds after START, each time for one second. */
function turnPutOff(...at: readonly number[]): OpenTurn {
  const history = given([
    created(),
    turn(1),
    ...at.flatMap((second, index) => [
      { at: START + second * 1000, fact: runStarted(index + 1) },
      { at: START + second * 1000, fact: putOff(index + 1, START + (second + 1) * 1000) },
    ]),
  ]);
  return history.state.turns[0] as OpenTurn;
}

const plan = (
  open: OpenTurn,
  models: readonly UnusableModel[],
  second: number,
  { random = 0, ...other }: Partial<typeof policy> & { random?: number } = {},
) => planPutOff(open, models, START + second * 1000, { ...policy, ...other }, random);
const delay = (...given: Parameters<typeof plan>): number => {
  const planned = plan(...given);
  if (planned.action !== 'put-off') throw new Error(planned.action);
  return (planned.command.retryAt - START) / 1000 - given[2];
};

describe('a turn whose models cannot be used', () => {
  it('follows the schedule, whose last pause repeats', () => {
    expect(delay(turnPutOff(), [busy], 0)).toBe(5);
    expect(delay(turnPutOff(0), [busy], 1)).toBe(15);
    expect(delay(turnPutOff(0, 1), [busy], 2)).toBe(60);
    expect(delay(turnPutOff(0, 1, 2, 3), [busy], 4)).toBe(60);
  });

  it('comes back up to a fifth later, never earlier', () => {
    expect(delay(turnPutOff(0), [busy], 1, { random: 0.5 })).toBe(16.5);
    expect(delay(turnPutOff(0), [busy], 1, { random: 0.999 })).toBeCloseTo(18, 1);
  });

  it('comes back exactly when the model says, whatever the schedule and the jitter', () => {
    const says = (seconds: number) => ({ ...busy, retryAfterMs: seconds * 1000 });
    for (const random of [0, 0.999]) {
      expect(delay(turnPutOff(), [says(15)], 0, { random })).toBe(15);
      expect(delay(turnPutOff(0, 1, 2), [says(15)], 3, { random })).toBe(15);
      expect(delay(turnPutOff(0), [says(77)], 1, { random })).toBe(77);
      for (const short of [1, 2, 4])
        expect(delay(turnPutOff(0, 1), [says(short)], 2, { random })).toBe(short);
    }
  });

  it('does not hammer a model that always says "at once"', () => {
    const atOnce = { ...busy, retryAfterMs: 0 };
    expect(delay(turnPutOff(0, 1), [atOnce], 2)).toBe(5);
    expect(delay(turnPutOff(0, 1), [{ ...atOnce, retryAfterMs: 999 }], 2)).toBe(5);
    expect(delay(turnPutOff(0, 1), [atOnce], 2, { scheduleSeconds: [1, 60] })).toBe(1);
    expect(delay(turnPutOff(0, 1), [atOnce], 2, { scheduleSeconds: [300] })).toBe(5);
  });

  it('comes back as soon as one of its models may work, and calls none before that', () => {
    const later = { ...busy, retryAfterMs: 100_000 };
    expect(delay(turnPutOff(), [later, busy], 0)).toBe(5);
    expect(delay(turnPutOff(), [later, { ...busy, retryAfterMs: 30_000 }], 0)).toBe(30);
    expect(delay(turnPutOff(), [{ ...busy, pausedMs: 25_000 }], 0)).toBe(25);
    expect(delay(turnPutOff(), [{ ...busy, pausedMs: 25_000 }], 0, { random: 0.5 })).toBe(25.5);
  });

  it('waits no longer than the limit since its first failure, tries once more, and gives up', () => {
    const year = { ...busy, retryAfterMs: 365 * 86_400_000 };
    expect(delay(turnPutOff(), [year], 0)).toBe(600);
    const open = turnPutOff(0, 300, 590);
    expect(delay(open, [busy], 599)).toBe(1);
    expect(plan(open, [busy], 600)).toEqual({ action: 'give-up', reason: 'unavailable' });
    expect(plan(open, [misconfigured], 600)).toEqual({ action: 'give-up', reason: 'configuration' });
    expect(plan(turnPutOff(), [busy], 0, { maxSeconds: 0 })).toEqual({
      action: 'give-up',
      reason: 'unavailable',
    });
  });

  it('is the operator’s to mend only if every model is', () => {
    const reason = (...models: UnusableModel[]) => {
      const planned = plan(turnPutOff(), models, 0);
      return planned.action === 'put-off' && planned.command.reason;
    };
    expect(reason(misconfigured, misconfigured)).toBe('configuration');
    expect(reason(misconfigured, busy)).toBe('unavailable');
  });

  it('tells the user once, when the wait becomes longer than a minute', () => {
    const tells = (open: OpenTurn, models: UnusableModel[], second: number) => {
      const planned = plan(open, models, second);
      return planned.action === 'put-off' && planned.tell;
    };
    expect(tells(turnPutOff(), [busy], 0)).toBe(false);
    expect(tells(turnPutOff(0), [busy], 40)).toBe(false);
    expect(tells(turnPutOff(0), [busy], 50)).toBe(true);
    expect(tells(turnPutOff(0, 40), [busy], 41)).toBe(true);
    expect(tells(turnPutOff(0, 40, 60), [busy], 61)).toBe(false);
    expect(tells(turnPutOff(), [{ ...busy, retryAfterMs: 61_000 }], 0)).toBe(true);
  });
});

it('the wait of a turn is over at its limit, and counts anew after a model answered', () => {
  const waited = given([created(), turn(1), runStarted(1), putOff(1, START + 9_000)]);
  const since = waited.now;
  expect(waitIsOver(waited.state, since + 599_999, policy)).toBe(false);
  expect(waitIsOver(waited.state, since + 600_000, policy)).toBe(true);
  const answered = waited.and([runStarted(2), modelAsked(['c-1'], { generation: 2 })]);
  expect(waitIsOver(answered.state, since + 600_000, policy)).toBe(false);
});
