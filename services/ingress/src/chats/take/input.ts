import { toStorable } from '@angelia/event-log';
import { openApproval, type SessionState } from '@angelia/session';
import type { Person } from '../platform.ts';
import type { BroughtFiles } from './files/bring-files.ts';
import type { TakingMessage } from './take-context.ts';

/** A name of a person is their own text: one short line of it is shown. */
const LONGEST_NAME = 40;

export function shownName({ name, id }: Person): string {
  const line = name.replace(/[\p{C}\s[\]<>`*_]+/gu, ' ').trim();
  return toStorable([...line].slice(0, LONGEST_NAME).join('')) || id;
}

/** What the agent reads. In a group it has to know who speaks. */
export function inputOf({
  update: { text, direct, from },
  files,
}: Pick<TakingMessage, 'update' | 'files'>): string {
  const notes = files?.notes ?? [];
  const said = [...(text === '' ? [] : [text]), ...notes].join('\n');
  return toStorable(direct ? said : `${shownName(from)}: ${said}`);
}

const LONGEST_TITLE = 80;

/** The first line with words, cut at a word. */
export function titleOf(text: string): string {
  const line = text.split('\n').find((one) => /[\p{L}\p{N}]/u.test(one)) ?? '';
  const words = toStorable(line).replace(/\s+/g, ' ').trim();
  if (words.length <= LONGEST_TITLE) return words;
  const end = words.lastIndexOf(' ', LONGEST_TITLE - 1);
  return `${words.slice(0, end > LONGEST_TITLE / 2 ? end : LONGEST_TITLE - 1).toWellFormed()}…`;
}

/** For whoever writes while the session is at work. */
export function queuedText(state: SessionState): string {
  const title = state.created?.title ?? '';
  const what = title === '' ? 'the work before it' : `“${title}”`;
  return openApproval(state) === null
    ? `I have your message and will read it when ${what} is done.`
    : `I have your message and will read it when somebody has decided about the request: /approve or /deny.`;
}

/** What a message brought beside its words: fields of a command that requests a turn. */
export function broughtBy({ files }: Pick<TakingMessage, 'files'>): Pick<BroughtFiles, 'images' | 'files'> {
  return { images: files?.images ?? [], files: files?.files ?? [] };
}
