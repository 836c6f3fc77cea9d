import { withoutFences } from '@angelia/session';
import { truncate } from '../payload/truncate.ts';

/** A line in a list beside other columns. */
const LONGEST_MADE = 80;
/** Of the prompt: whoever writes more than this before the first word says nothing that names it. */
const LOOKED_AT = 2_000;

/** The first line of the prompt that says something, cut at a word; null where that is nobody's words but JSON. */
export function titleFromPrompt(input: string): string | null {
  for (const line of truncate(input, LOOKED_AT).split('\n')) {
    const said = withoutFences(line).replace(/\s+/g, ' ').trim().replace(/:$/, '');
    if (/^[[{]/.test(said)) return null;
    if (/[\p{L}\p{N}]/u.test(said)) return cutAtWord(said);
  }
  return null;
}

function cutAtWord(text: string): string {
  if (text.length <= LONGEST_MADE) return text;
  const end = text.lastIndexOf(' ', LONGEST_MADE - 1);
  // Some scripts have no spaces, and a URL is one word: then in the middle of it.
  return `${end > LONGEST_MADE / 2 ? text.slice(0, end) : truncate(text, LONGEST_MADE - 1)}…`;
}
