import { describe, expect, it } from '@jest/globals';
import { withoutThoughts } from './thoughts-in-text.ts';

describe('the text of a model, without its thoughts', () => {
  it.each([
    ['<think>hm</think>the answer', 'the answer'],
    ['\n<think>\nhm\n\nhm\n</think>\n\nthe answer\n', 'the answer\n'],
    ['<think></think>\n\nthe answer', 'the answer'],
    ['<think>one</think>\n<think>two</think>\nthe answer', 'the answer'],
    ['<think>a\n```\ncode\n```\n</think>\nthe answer', 'the answer'],
    ['Let me see.\n<think>hm</think>\nthe answer', 'Let me see.\nthe answer'],
    // The prompt opened the tag.
    ['hm, so be it\n</think>\n\nthe answer', 'the answer'],
    // Cut within its thoughts.
    ['<think>hm, hm', ''],
    ['<think>hm</think>', ''],
  ])('%j is %j', (text, answer) => {
    expect(withoutThoughts(text)).toBe(answer);
  });

  it.each([
    'the answer',
    'Use <think> and </think> around thoughts.',
    'Like this:\n```\n<think>\nhm\n</think>\n```\nDone.',
    'Write\n<think>\nand then what you think.',
    'It ends with\n</think> on its line.',
  ])('%j is all answer', (text) => {
    expect(withoutThoughts(text)).toBe(text);
  });

  it('takes time in proportion to its length', () => {
    const text = '<think>hm</think>\n'.repeat(50_000);
    expect(withoutThoughts(text)).toBe('');
    const open = `x\n${'<think>\n'.repeat(200_000)}`;
    expect(withoutThoughts(open)).toBe(open);
  });
});
