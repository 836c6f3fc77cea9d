import { stripVTControlCharacters } from 'node:util';

/** Control characters except newline and tab, and characters that change the direction of the text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this replaces them.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Makes text of others (titles, answers, process output) safe for a terminal: an escape sequence in a webhook must not move
 * the cursor, rename the window or hide other text.
 */
export function withoutControlCharacters(text: string): string {
  return stripVTControlCharacters(text).replaceAll('\r\n', '\n').replace(CONTROL, '\ufffd');
}

/** JSON.stringify escapes the first 32 control characters. A terminal can take these for escape sequences as well. */
const HIGH_CONTROL = /[\u007f-\u009f]/g;

export function jsonText(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(
    HIGH_CONTROL,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
