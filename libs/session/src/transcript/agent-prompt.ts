import type { StreamEvent } from '../evolve.ts';
import { isSilent } from '../outputs/decide-outputs.ts';
import { transcript } from './transcript.ts';
import { fenceNote, hasFence } from './untrusted-text.ts';

/** One thing that was said. */
export interface Said {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** What was said so far, for an agent that is no model: without its tools, and without answers that say nothing. */
export function conversation(events: readonly StreamEvent[]): Said[] {
  return transcript(events).flatMap(({ role, content }): Said[] =>
    role === 'tool' || (role === 'assistant' && isSilent(content)) ? [] : [{ role, content }],
  );
}

/** What an agent that is no model has to know about the fences in what was said; nothing where there are none. */
export function fenceInstructions(said: readonly Said[]): string[] {
  return said.some(({ content }) => hasFence(content)) ? [fenceNote(null)] : [];
}

/**
 * The prompt of a program: the input of the turn as it is. What was said before and the route's instructions, where
 * there are any, stand above it.
 */
export function programPrompt(said: readonly Said[], instructions: readonly string[]): string {
  const input = said.findLast(({ role }) => role === 'user')?.content ?? '';
  const before = said.slice(
    0,
    said.findLastIndex(({ role }) => role === 'user'),
  );
  const parts = [
    ...instructions,
    ...fenceInstructions(said),
    ...(before.length === 0
      ? []
      : [`The conversation so far:\n\n${before.map(line).join('\n\n')}`, 'The message to answer now:']),
    input,
  ];
  return parts.join('\n\n');
}

function line({ role, content }: Said): string {
  return `${role === 'user' ? 'User' : 'You'}: ${content}`;
}
