import type { Message } from '@angelia/session';
import { describe, expect, it } from '@jest/globals';
import { roughTokens, tokensOfRequest } from '../../models/rough-tokens.ts';
import { shortened, summaryRequest } from './compress-context.ts';

const result = (content: string, n = 1): Message => ({ role: 'tool', content, tool_call_id: `c-${n}` });
const recordOf = (rows: readonly Message[], budget: number) =>
  summaryRequest(rows, budget).messages[0]?.content ?? '';

describe('the request for a summary', () => {
  it('holds the record as one text: who said what, which calls, which results', () => {
    const calls = [{ id: 'c-1', name: 'terminal', arguments: '{"command":"ls"}' }];
    const rows: Message[] = [
      { role: 'user', content: 'look' },
      { role: 'assistant', content: '', tool_calls: calls },
      result('a.txt'),
    ];
    expect(recordOf(rows, 1_000)).toBe(
      '<record>\n## user\nlook\n\n## assistant\n[calls terminal({"command":"ls"})]\n\n' +
        '## result of c-1\na.txt\n</record>\n\nWrite the summary.',
    );
  });

  it('shortens long rows before short ones', () => {
    const record = recordOf([result('x'.repeat(100_000)), result('a short one', 2)], 1_000);
    expect(record).toContain('a short one');
    expect(record).toMatch(/x{100}\n\[\.\.\. \d+ characters left out \.\.\.\]\nx{100}/);
  });

  it('fits in its share of the window, even with many short rows', () => {
    const rows = Array.from({ length: 500 }, (_, n) => result(`row ${n} ${'y'.repeat(60)}`, n));
    const request = summaryRequest(rows, 2_000);
    expect(tokensOfRequest({ ...request, system: '' })).toBeLessThan(2_100);
    expect(request.messages[0]?.content).toContain('row 0 ');
    expect(request.messages[0]?.content).toContain('row 499 ');
  });
});

describe('a shortened text', () => {
  it('keeps both ends, and is unchanged if it fits', () => {
    expect(shortened('abc', 10)).toBe('abc');
    expect(shortened(`begin ${'-'.repeat(1_000)} end`, 50)).toMatch(
      /^begin -+\n\[.* left out .*\]\n-+ end$/s,
    );
  });

  it('is well formed: a cut through an emoji does not leave half of it', () => {
    for (let tokens = 10; tokens < 40; tokens += 1) {
      expect(shortened('a😀'.repeat(100), tokens).isWellFormed()).toBe(true);
    }
  });

  it('counts each character of a script without spaces as a token', () => {
    const text = '漢'.repeat(1_000);
    expect(roughTokens(text)).toBe(1_000);
    expect(shortened(text, 100).match(/漢/g)?.length).toBe(100);
  });
});
