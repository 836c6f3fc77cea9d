import type { SessionEvent } from './session-event.ts';

/** The text of an event is made once: a search runs on every key. */
const texts = new WeakMap<SessionEvent, string>();

function textOf(event: SessionEvent): string {
  const known = texts.get(event);
  if (known !== undefined) return known;
  const text =
    `${event.version} ${event.type} ${JSON.stringify(event.data)} ${JSON.stringify(event.meta)}`.toLowerCase();
  texts.set(event, text);
  return text;
}

/** Events that have every word of the search, in upper or lower case. */
export function findEvents(events: readonly SessionEvent[], search: string): readonly SessionEvent[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return events;
  return events.filter((event) => words.every((word) => textOf(event).includes(word)));
}
