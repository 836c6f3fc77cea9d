import { stripVTControlCharacters } from 'node:util';

/** All but newline and tab; and what turns the direction of the text around it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Text of others (titles, answers, what a process printed) as a terminal may show it: an escape sequence in a webhook must
 * not move the cursor, rename the window or hide what stands around it.
 */
export function withoutControlCharacters(text: string): string {
  return stripVTControlCharacters(text).replaceAll('\r\n', '\n').replace(CONTROL, '\ufffd');
}

/** JSON escapes the first 32 by itself; a terminal takes some of these for escape sequences, too. */
const HIGH_CONTROL = /[\u007f-\u009f]/g;

export function jsonText(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(
    HIGH_CONTROL,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
