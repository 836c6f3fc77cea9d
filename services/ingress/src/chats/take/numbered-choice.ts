import type { EventData } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';

/**
 * The choices of a question are numbered in its text. Where there are no buttons (Matrix), people answer with a number. Null:
 * the text is not the number of a choice of the open question.
 */
export function numberedChoice(
  { state, events }: Pick<Loaded, 'state' | 'events'>,
  text: string,
): string | null {
  const [, number] = /^\s*#?([1-9][0-9]?)[.)]?\s*$/.exec(text) ?? [];
  if (number === undefined || state.clarification === null) return null;
  // Streams are read from version 1 and have no gaps.
  const asked = events[state.clarification.output - 1];
  if (asked?.type !== 'clarification.requested') return null;
  const { choices } = asked.data as EventData<'clarification.requested'>;
  return choices[Number(number) - 1] ?? null;
}
