import { type RecordedEvent, SCHEMA_VERSION } from '@angelia/contracts';
import { decide, fold, initialState } from '@angelia/session';
import { describe, expect, it } from '@jest/globals';
import { projectViews } from './project-views.ts';
import { EventTooNew, type UpcastSteps, upcast } from './upcast.ts';

const event = (type: string, data: unknown, schemaVersion: number, version = 1): RecordedEvent => ({
  position: version,
  streamId: '01980000-0000-7000-8000-000000000001',
  version,
  type,
  schemaVersion,
  eventId: '01980000-0000-7000-8000-00000000000a',
  data,
  meta: { actor: 'test' },
  recordedAt: 1_700_000_000_000,
});

/** A history as an imaginary version 0 would have written it: no `outcome`, and the answer under `answer`. */
const steps: UpcastSteps = {
  'session.final-response': {
    0: (data) => {
      const { answer, ...rest } = data as { answer: string };
      return { ...rest, text: answer, outcome: 'succeeded', silent: false };
    },
    1: (data) => ({ ...(data as object), language: 'en' }),
  },
};
const old = { generation: 1, turn: 1, answer: 'four' };
const asOne = { generation: 1, turn: 1, text: 'four', outcome: 'succeeded', silent: false };

describe('an event of an older schema', () => {
  it('is read in the newest form, step by step', () => {
    expect(upcast(event('session.final-response', old, 0), steps, 1)).toMatchObject({
      schemaVersion: 1,
      data: asOne,
    });
    expect(upcast(event('session.final-response', old, 0), steps, 2)).toMatchObject({
      schemaVersion: 2,
      data: { ...asOne, language: 'en' },
    });
    expect(upcast(event('session.final-response', asOne, 1), steps, 2).data).toEqual({
      ...asOne,
      language: 'en',
    });
  });

  it('stays as it is if its type did not change, even if it is named like a property of every object', () => {
    const data = { x: 1 };
    expect(upcast(event('turn.requested', data, 0), steps, 2)).toMatchObject({ schemaVersion: 2, data });
    expect(upcast(event('constructor', data, 0), steps, 2).data).toBe(data);
  });

  it('is not changed itself: the log keeps what was written', () => {
    const recorded = event('session.final-response', old, 0);
    upcast(recorded, steps, 1);
    expect(recorded).toEqual(event('session.final-response', old, 0));
  });

  it('folds, and is decided on, like a new one', () => {
    const decision = decide(initialState(), {
      type: 'create-session',
      route: 'r',
      event: null,
      deliveryId: 'd',
      title: 't',
      agent: 'default',
      deliver: { target: 'log', to: {}, untrusted_address: false },
      input: 'two and two',
    });
    if (!decision.ok) throw new Error('refused');
    const started = { generation: 1, turn: 1, runner: 'r#1', resumed: false, attempt: 1 };
    const history = [
      ...decision.events.map(({ type, data }, index) => event(type, data, 1, index + 1)),
      event('run.started', started, 1, 3),
      event('session.final-response', old, 0, 4),
    ];
    const state = fold(history.map((one) => upcast(one, steps, 1)));
    expect(state.answered).toMatchObject({ turn: 1, outcome: 'succeeded' });
    expect(state.turns).toEqual([]);
  });
});

describe('an event of a newer schema', () => {
  const newer = event('run.started', {}, SCHEMA_VERSION + 1);

  it('is refused with a retryable error: an upgraded replica takes the work', () => {
    expect(() => upcast(newer)).toThrow(EventTooNew);
    expect(() => upcast(newer)).toThrow(expect.objectContaining({ code: 'event_too_new', retryable: true }));
  });

  it('is refused by the views too', () => {
    expect(() => projectViews(null, [newer])).toThrow(EventTooNew);
  });
});
