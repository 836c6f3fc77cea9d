import { describe, expect, it } from '@jest/globals';
import { clockTime, givenUpText, waitingText } from './wait-texts.ts';

const now = Date.parse('2026-11-18T13:59:10Z');

describe('what the user reads while a turn waits', () => {
  it('tells a busy model from one that is not configured, and when it goes on', () => {
    const at = Date.parse('2026-11-18T14:05:00Z');
    expect(waitingText('llm', 'unavailable', at, now)).toBe(
      'The language model is busy; I will try again at 14:05 UTC.',
    );
    expect(waitingText('llm', 'configuration', at, now)).toBe(
      'The language model could not be used because of a configuration problem. The operator can see why. I will try again at 14:05 UTC.',
    );
    expect(waitingText('http', 'unavailable', at, now)).toBe(
      'The agent that should do this is busy; I will try again at 14:05 UTC.',
    );
  });

  it.each([
    ['2026-11-18T14:04:01Z', '14:05 UTC'],
    ['2026-11-18T23:59:59Z', '2026-11-19 00:00 UTC'],
    ['2026-11-19T01:00:00Z', '2026-11-19 01:00 UTC'],
  ])('%s is "%s": rounded up, with the date on another day', (at, text) => {
    expect(clockTime(Date.parse(at), now)).toBe(text);
  });

  it('tells at the end what it was', () => {
    const texts = (['unavailable', 'configuration', null] as const).map((reason) =>
      givenUpText('llm', reason),
    );
    expect(new Set(texts).size).toBe(3);
    expect(texts[1]).toContain(
      'could not be used because of a configuration problem. The operator can see why.',
    );
  });
});
