import type { ChatClick, ChatMessage } from '../platform.ts';

/** Longer than the ids of every platform: a Message-ID is cut at 500. An index of Postgres takes 2,704 bytes. */
const LONGEST_ID = 600;

/**
 * Whether the log can keep the ids of an update. Some of them are chosen by who wrote it, such as a Message-ID or the thread of
 * an event in Matrix. An update that can never be appended would be delivered again for ever, and nothing behind it would be
 * taken.
 */
export function isKeepable(update: ChatMessage | ChatClick): boolean {
  const { updateId, message, from, place } = update;
  const given =
    update.kind === 'message' ? [update.replyTo, ...Object.values(update.answerTo).flat()] : [update.data];
  return [updateId, message, from.id, ...Object.values(place), ...given].every(
    (id) =>
      typeof id !== 'string' || (id.length <= LONGEST_ID && id.isWellFormed() && !id.includes('\u0000')),
  );
}
