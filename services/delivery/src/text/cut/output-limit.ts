import type { Block } from '../read/document.ts';
import { PLAIN_STYLE } from '../read/document.ts';
import { characterBoundary } from './cut-position.ts';

/**
 * How much of one output goes to a platform that shows messages. The log and the session's transcript have all of it; `http`
 * and `log` get all of it. These are constants and not config: a retry, even after a restart with another config, must cut
 * the same text in the same way, because it continues after the last message taken.
 */

/** A short book. A webhook can cause a megabyte, which would be a message a second for half an hour. */
export const MAX_CHARACTERS = 100_000;
/** That many characters in Discord's messages of 2,000. At Telegram's rate, less than a minute in one chat. */
export const MAX_MESSAGES = 50;

export interface LimitedOutput {
  readonly text: string;
  /** The notice below it; empty if the text is whole. */
  readonly end: readonly Block[];
  /** Of the whole text. */
  readonly characters: number;
}

/** The beginning of the text, and a notice if that is not all. */
export function limitOutput(source: string): LimitedOutput {
  const characters = source.length;
  if (characters <= MAX_CHARACTERS) return { text: source, end: [], characters };
  return {
    text: source.slice(0, characterBoundary(source, MAX_CHARACTERS)),
    end: [cutNotice(`${formatCount(MAX_CHARACTERS)} characters`, characters)],
    characters,
  };
}

/** `... cut at 100,000 characters: the whole text has 1,048,576`. It is a message or a paragraph of its own. */
export function cutNotice(at: string, characters: number): Block {
  return notice(`... cut at ${at}: the whole text has ${formatCount(characters)} characters`);
}

function notice(text: string): Block {
  const spans = [{ text, style: PLAIN_STYLE }];
  const position = { indent: 0, quote: 0, tight: false, marker: null, hanging: false };
  return { kind: 'text', spans, heading: 0, ...position };
}

function formatCount(count: number): string {
  return count.toLocaleString('en');
}
