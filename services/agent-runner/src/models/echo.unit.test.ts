import { fenced, fencedBlock } from '@angelia/session';
import { describe, expect, it } from '@jest/globals';
import { echoModel } from './echo.ts';

const never = new AbortController().signal;

describe('the echo model', () => {
  it('answers with the input of the turn, the same every time', async () => {
    const messages = [
      { role: 'user' as const, content: 'first' },
      { role: 'assistant' as const, content: 'first', toolCalls: [] },
      { role: 'user' as const, content: 'second' },
    ];
    const replies = await Promise.all(
      [1, 2].map(() => echoModel('demo').call({ system: 's', messages, tools: [] }, never)),
    );
    expect(replies[0]).toEqual({
      text: 'second',
      toolCalls: [],
      finishReason: 'stop',
      usage: { input_tokens: 2, output_tokens: 2 },
    });
    expect(replies[1]).toEqual(replies[0]);
  });

  it('leaves out the fences around foreign text, because people read the answer', async () => {
    const content = `Review: ${fenced('two words', '0123456789ab', 'sentence')}\n${fencedBlock('a\nb', '0123456789ab')}`;
    const request = { system: 's', messages: [{ role: 'user' as const, content }], tools: [] };
    expect((await echoModel('demo').call(request, never)).text).toBe('Review: two words\na\nb');
  });
});
