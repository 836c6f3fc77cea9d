/**
 * Characters that change how the text around them is shown, or that nobody sees. Joiners and selectors stay, because scripts
 * and emoji need them. What runs is shown more strictly (`shownArguments`).
 */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Text of strangers, such as a title or a question, with such characters shown by their code. */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** A text of strangers within a sentence of ours. It cannot reverse the text that follows it. */
export const foreign = (text: string): string => `<bdi>${escaped(visibleText(text))}</bdi>`;
