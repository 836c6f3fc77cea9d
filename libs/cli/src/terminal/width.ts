import { stripVTControlCharacters } from 'node:util';

const SEGMENTS = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** East Asian wide forms and emoji take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const PLAIN = /^[\x20-\x7e]*$/;

/** How many columns a text takes in a terminal. Colours take none. */
export function displayWidth(text: string): number {
  const bare = stripVTControlCharacters(text);
  if (PLAIN.test(bare)) return bare.length;
  let width = 0;
  for (const { segment } of SEGMENTS.segment(bare)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** The text, or as much of its beginning as fits with `…`. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of SEGMENTS.segment(text)) {
    const wide = WIDE.test(segment) ? 2 : 1;
    if (used + wide > width - 1) break;
    kept += segment;
    used += wide;
  }
  return `${kept}…`;
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - displayWidth(text))) + text;
}
