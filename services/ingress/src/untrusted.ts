import { fenced, fencedBlock } from '@angelia/session';
import type { Quote } from './template.ts';

/**
 * How a payload's values stand in a prompt (libs/session/src/untrusted.ts says which of them are fenced, and why).
 * @param alone the prompt is this one value
 */
export function untrusted(mark: string, alone: boolean): Quote {
  return (value, kind) =>
    kind === 'block' ? fencedBlock(value, mark) : fenced(value, mark, alone ? 'alone' : 'sentence');
}
