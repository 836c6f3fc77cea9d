import { describe, expect, it } from '@jest/globals';
import { statusText } from './still-working.ts';

const call = (tool: string, status: 'started' | 'done') => ({
  id: tool,
  tool,
  status,
  startedIn: 1,
  startedAt: 0,
});

describe('the text of "Still working"', () => {
  it.each([
    [{ step: 0, calls: [] }, 3_000, 'Still working... (less than a minute, step 1: thinking)'],
    [{ step: 3, calls: [] }, 6 * 60_000, 'Still working... (6 min, step 4: thinking)'],
    [
      { step: 4, calls: [call('terminal', 'started'), call('clarify', 'done')] },
      359_999,
      'Still working... (5 min, step 4: terminal)',
    ],
    [
      {
        step: 4,
        calls: [call('terminal', 'started'), call('terminal', 'started'), call('mcp__a__b', 'started')],
      },
      60_000,
      'Still working... (1 min, step 4: terminal, mcp__a__b)',
    ],
    [{ step: 0, calls: [call('agent', 'started')] }, 120_000, 'Still working... (2 min)'],
  ])('%j after %i ms: %s', (turn, elapsed, text) => {
    expect(statusText(turn, elapsed)).toBe(text);
  });
});
