import { isSilent } from '../outputs/decide-outputs.ts';
import type { StreamEvent } from '../state.ts';
import { transcript } from './transcript.ts';
import { fenceNote, hasFence } from './untrusted-text.ts';

/** One message of the conversation, without tool calls. */
interface Utterance {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** The conversation so far, for an agent that is not a model: without tool rows and silent answers. */
export function conversation(events: readonly StreamEvent[]): Utterance[] {
  return transcript(events).flatMap(({ role, content }): Utterance[] =>
    role === 'tool' || (role === 'assistant' && isSilent(content)) ? [] : [{ role, content }],
  );
}

/** What an agent that is not a model must know about the fences in the conversation. Empty if there are none. */
export function fenceInstructions(said: readonly Utterance[]): string[] {
  return said.some(({ content }) => hasFence(content)) ? [fenceNote(null)] : [];
}

/**
 * The prompt of a program: the unchanged input of the turn, preceded by the route's instructions and the earlier
 * conversation, if there are any.
 */
export function programPrompt(said: readonly Utterance[], instructions: readonly string[]): string {
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

function line({ role, content }: Utterance): string {
  return `${role === 'user' ? 'User' : 'You'}: ${content}`;
}
