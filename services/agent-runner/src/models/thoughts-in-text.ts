/**
 * Some servers leave the thoughts of a model in its text: `<think>...</think>`, then the answer. Nobody asked for them. A
 * tag counts at the beginning of a line and outside of code, because an answer may be about such tags.
 */
const TAG = /^[ \t]*<(\/?)think>|^[ \t]*```/gm;

/** The text without them, and without the white space behind them. */
export function withoutThoughts(text: string): string {
  if (!text.includes('think>')) return text;
  let answer = '';
  let from = 0;
  let isCode = false;
  for (const { 0: tag, 1: slash, index } of text.matchAll(TAG)) {
    if (index < from) continue;
    if (slash === undefined) {
      isCode = !isCode;
    } else if (isCode) {
    } else if (slash === '/') {
      // The prompt of some models opens the tag, so that the answer only closes it.
      if (from > 0 || !isAlone(text, index + tag.length)) continue;
      answer = '';
      from = afterSpace(text, index + tag.length);
    } else {
      const end = text.indexOf(CLOSING, index + tag.length);
      // Cut within its thoughts: there is no answer. Elsewhere an open tag is a word of the answer.
      if (end === -1 && (answer + text.slice(from, index)).trim() !== '') break;
      answer += text.slice(from, index);
      from = end === -1 ? text.length : afterSpace(text, end + CLOSING.length);
    }
  }
  return from === 0 ? text : answer.trimStart() + text.slice(from);
}

const CLOSING = '</think>';

/** Nothing but white space follows on the line. */
function isAlone(text: string, at: number): boolean {
  return /^[ \t]*(\r?\n|$)/.test(text.slice(at, at + 100));
}

function afterSpace(text: string, at: number): number {
  return text.length - text.slice(at).trimStart().length;
}
