import { describe, expect, it } from '@jest/globals';
import { type GivenFact, given } from '../../testing/given-when-then.ts';
import { answered, created, runStarted, turn } from '../../testing/sample-facts.ts';
import { decide } from '../decide.ts';
import { initialState } from '../state.ts';
import { transcript } from '../transcript/transcript.ts';
import { continuation, LONGEST_HISTORY } from './continuation.ts';

const OLD = '0199a000-0000-7000-8000-000000000001';
const of = (facts: readonly GivenFact[]) => {
  const { state, events } = given(facts);
  return continuation({ id: OLD, state, events });
};

describe('a continuation', () => {
  it('names the old session and inherits its config and transcript', () => {
    const next = of([
      created({ session_key: 'pr-7', max_concurrency: 2, skills: ['review'] }),
      turn(1, { input: 'first' }),
      runStarted(1),
      answered('one'),
    ]);
    expect(next).toMatchObject({ continues: OLD, sessionKey: 'pr-7', maxConcurrency: 2, skills: ['review'] });
    expect(next.history).toMatchObject([
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'one' },
    ]);
  });

  it('names the first session of its conversation and the watcher of its files, also in a long chain', () => {
    const first = [created(), turn(1), runStarted(1)];
    expect(of([...first, answered()])).toMatchObject({ conversationId: OLD, watcher: null });
    const second = of([
      created({ conversation_id: 'the-first', watcher: 'watcher-2' }),
      turn(1),
      runStarted(1),
      answered(),
    ]);
    expect(second).toMatchObject({ conversationId: 'the-first', watcher: 'watcher-2', continues: OLD });
    expect(
      decide(initialState(), { type: 'create-session', ...second, deliveryId: 'd', input: 'x' }),
    ).toMatchObject({
      ok: true,
      events: [{ type: 'session.created', data: { conversation_id: 'the-first', watcher: 'watcher-2' } }, {}],
    });
  });

  it('shows the model everything before it, also in a continuation of a continuation', () => {
    const first = of([created(), turn(1, { input: 'a' }), runStarted(1), answered('A')]);
    const second = of([
      created(),
      turn(1, { input: 'b', history: [...(first.history ?? [])] }),
      runStarted(1),
      answered('B'),
    ]);
    const third = given([created(), turn(1, { input: 'c', history: [...(second.history ?? [])] })]);
    expect(transcript(third.events).map(({ role, content }) => `${role}: ${content}`)).toEqual([
      'user: a',
      'assistant: A',
      'user: b',
      'assistant: B',
      'user: c',
    ]);
  });

  it('leaves out the oldest whole exchanges if the history is too long, and says so', () => {
    const long = 'x'.repeat(LONGEST_HISTORY / 2);
    const history = ['1', '2', '3'].flatMap((n) => [
      { role: 'user' as const, content: `ask ${n}` },
      { role: 'assistant' as const, content: `${n}${long.slice(0, LONGEST_HISTORY / 2 - 2_000)}` },
    ]);
    const next = of([created(), turn(1, { input: 'last', history }), runStarted(1), answered()]);
    expect(next.history?.map((row) => row.role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
    ]);
    expect(next.history?.[0]?.content).toMatch(/^\[The beginning .*left out.*\]\n\nask 2$/);
  });

  it('throws if there is no session to continue', () => {
    expect(() => continuation({ id: OLD, state: initialState(), events: [] })).toThrow('no such session');
  });
});
