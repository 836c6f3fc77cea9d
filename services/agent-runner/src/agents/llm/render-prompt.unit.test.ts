import type { RecordedEvent } from '@angelia/contracts';
import {
  type CreateSession,
  decide,
  fenceNote,
  fold,
  initialState,
  markOf,
  type StreamEvent,
} from '@angelia/session';
import { describe, expect, it } from '@jest/globals';
import { renderPrompt } from './render-prompt.ts';

const SEED = 'seed';
const MARK = markOf(SEED, 1);
const AGENT = { system: 'You review.' };

function session(over: Partial<CreateSession>): { events: RecordedEvent[]; state: ReturnType<typeof fold> } {
  const decision = decide(initialState(), {
    type: 'create-session',
    route: 'r',
    event: null,
    deliveryId: 'd',
    title: 't',
    agent: 'a',
    deliver: { target: 'log', to: {}, untrusted_address: false },
    input: 'do it',
    ...over,
  });
  if (!decision.ok) throw new Error(decision.reason);
  const events = decision.events.map(
    (event, index): StreamEvent => ({ ...event, version: index + 1, recordedAt: 0 }),
  );
  return { events: events as RecordedEvent[], state: fold(events) };
}

const tool = (name: string) => ({ name, description: '', parameters: {} });
const systemOf = (over: Partial<CreateSession>, ...tools: string[]) =>
  renderPrompt(AGENT, '/nowhere', session(over), tools.map(tool)).system;

describe('the system prompt', () => {
  it('explains fences with the same words in every session that has none', () => {
    expect(systemOf({ fenceSeed: SEED })).toBe(`You review.\n\n${fenceNote(null)}`);
    expect(systemOf({ fenceSeed: 'other' }, 'terminal')).toBe(systemOf({ fenceSeed: SEED }));
  });

  it('names the mark if the turn has one', () => {
    const input = `Review <untrusted-${MARK}>two words</untrusted-${MARK}>`;
    expect(systemOf({ fenceSeed: SEED, input })).toBe(`You review.\n\n${fenceNote(MARK)}`);
    // Not a mark that the sender wrote.
    const forged = 'Review <untrusted-0123456789ab>';
    expect(systemOf({ fenceSeed: SEED, input: forged })).toBe(`You review.\n\n${fenceNote(null)}`);
  });

  it('names the mark from the start if the result of a tool may have it', () => {
    expect(systemOf({ fenceSeed: SEED }, 'mcp__x__y')).toContain(MARK);
  });

  it('is unchanged in sessions from before there were marks', () => {
    expect(systemOf({})).toBe('You review.');
  });
});
