/**
 * Characters that change how the text around them is shown, or that nobody sees: overrides and isolates of the direction, marks,
 * zero-width ones, fillers, tags (but those of a flag), and control characters but tab and line breaks. In a title or a path they
 * can make `exe.gpj` of `jpg.exe`.
 */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
  /(?<!\u{1f3f4}[\u{e0061}-\u{e007a}]{0,5})[\u{e0000}-\u{e007f}]|\u034f|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\u3164\ufeff\uffa0\ufff9-\ufffb]/gu;

/** Text of strangers, with such characters shown by their number. */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** Output of a command without the sequences that give a terminal its colours. */
export function withoutColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with one.
  return text.replace(/\u001b\[[0-9;:]*m/g, '');
}

/** The beginning of a long text, cut between characters. */
export function beginning(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
}

/** `1.2 MB` */
export function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

const COUNT = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** `1,204`; from 100,000 on `104.2 k`. */
export function countText(count: number): string {
  if (count < 100_000) return COUNT.format(count);
  return count < 1_000_000 ? `${COUNT.format(count / 1_000)} k` : `${COUNT.format(count / 1_000_000)} M`;
}
