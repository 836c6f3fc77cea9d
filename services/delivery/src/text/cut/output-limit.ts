import type { Block } from '../read/document.ts';
import { PLAIN_STYLE } from '../read/document.ts';
import { characterBoundary } from './cut-position.ts';

/**
 * How much of one output is written to a platform that takes Markdown in messages. The log has all of it, and so has
 * the session's transcript; `http` and `log` get it whole. Constants and no config: a retry, also after a restart with
 * another config, cuts the same text in the same way and goes on after the last message taken.
 */

/** A short book. A webhook may say a megabyte, which would be a message a second for half an hour. */
export const MAX_CHARACTERS = 100_000;
/** As many characters in messages of 2,000, Discord's; at Telegram's rate less than a minute of one chat. */
export const MAX_MESSAGES = 50;

export interface Within {
  readonly text: string;
  /** What is said below it; nothing when it is whole. */
  readonly end: readonly Block[];
  /** Of the whole. */
  readonly characters: number;
}

/** The first so many characters, and that they are not all. */
export function withinLimit(source: string): Within {
  const characters = source.length;
  if (characters <= MAX_CHARACTERS) return { text: source, end: [], characters };
  return {
    text: source.slice(0, characterBoundary(source, MAX_CHARACTERS)),
    end: [cutNotice(`${counted(MAX_CHARACTERS)} characters`, characters)],
    characters,
  };
}

/** `... cut at 100,000 characters: the whole text has 1,048,576`. A message or a paragraph of its own. */
export function cutNotice(at: string, characters: number): Block {
  return said(`... cut at ${at}: the whole text has ${counted(characters)} characters`);
}

function said(text: string): Block {
  const spans = [{ text, style: PLAIN_STYLE }];
  const place = { indent: 0, quote: 0, tight: false, marker: null, hanging: false };
  return { kind: 'text', spans, heading: 0, ...place };
}

function counted(count: number): string {
  return count.toLocaleString('en');
}
