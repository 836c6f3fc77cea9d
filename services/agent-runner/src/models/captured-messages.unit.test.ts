import { captureContent } from '@angelia/service-kit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { replyContent, requestContent } from './captured-messages.ts';
import type { ModelReply, ModelRequest } from './model.ts';

const call = { id: 'c-1', name: 'terminal', arguments: '{"command":"ls"}' };
const request: ModelRequest = {
  system: 'be brief',
  messages: [
    { role: 'user', content: 'the question' },
    { role: 'assistant', content: 'let me see', toolCalls: [call] },
    { role: 'tool', callId: 'c-1', tool: 'terminal', content: 'the files' },
  ],
  tools: [],
};
const reply: ModelReply = {
  text: 'the answer',
  toolCalls: [call],
  finishReason: 'stop',
  usage: { input_tokens: 1, output_tokens: 1 },
};
const asText = (text: string) => text;

afterEach(() => captureContent([], asText));

describe('texts of a session in spans', () => {
  it('are none by default', () => {
    expect(requestContent(request)).toEqual({});
    expect(replyContent(reply)).toEqual({});
  });

  it.each([
    ['prompts', /be brief.*the question/, /let me see|command|the files|the answer/],
    ['answers', /let me see.*the answer/, /be brief|the question|command|the files/],
    ['tool_arguments', /command.*command/, /be brief|the question|let me see|the files|the answer/],
    ['tool_results', /the files/, /be brief|the question|let me see|command|the answer/],
  ] as const)('of the class %s alone', (one, wanted, other) => {
    captureContent([one], asText);
    const content = JSON.stringify([requestContent(request), replyContent(reply)]);
    expect(content).toMatch(wanted);
    expect(content).not.toMatch(other);
  });

  it('have the form of the conventions', () => {
    captureContent(['prompts', 'answers', 'tool_arguments', 'tool_results'], asText);
    const { 'gen_ai.system_instructions': system, 'gen_ai.input.messages': input } = requestContent(request);
    expect(JSON.parse(String(system))).toEqual([{ type: 'text', content: 'be brief' }]);
    expect(JSON.parse(String(input))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'the question' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'text', content: 'let me see' },
          { type: 'tool_call', id: 'c-1', name: 'terminal', arguments: '{"command":"ls"}' },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c-1', response: 'the files' }] },
    ]);
  });

  it('hold no secret, and are cut', () => {
    captureContent(['prompts', 'answers'], (text) => text.replaceAll('hunter2', '[redacted]'));
    const long = { ...reply, text: `my hunter2 ${'x'.repeat(20_000)}` };
    const said = String(replyContent(long)['gen_ai.output.messages']);
    expect(said).toContain('my [redacted] xxx');
    expect(said).toMatch(/more characters\]/);
    expect(said.length).toBeLessThan(9_000);
  });

  it('of a long conversation are its newest messages', () => {
    captureContent(['prompts'], asText);
    const messages = Array.from({ length: 100 }, (_, n) => ({
      role: 'user' as const,
      content: `${n} ${'x'.repeat(2_000)}`,
    }));
    const input = String(requestContent({ ...request, messages })['gen_ai.input.messages']);
    const kept = JSON.parse(input) as { parts: { content: string }[] }[];
    expect(kept.at(-1)?.parts[0]?.content).toMatch(/^99 /);
    expect(kept.length).toBeGreaterThan(20);
    expect(input.length).toBeLessThan(66_000);
  });
});
