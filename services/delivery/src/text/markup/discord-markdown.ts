import { type InlineMarkup, type Mark, writeSpans } from './inline-styles.ts';
import { indentOf, itemStart, quoted } from './line-layout.ts';
import type { Markup } from './markup.ts';

/** Discord's own dialect (https://support.discord.com/hc/en-us/articles/210298617). `allowed_mentions` prevents mentions. */

const SIGNS: Readonly<Record<Mark, string>> = { bold: '**', italic: '*', strike: '~~' };
/** Discord has no fences longer than three backticks. This, between backticks, keeps code from ending its block. */
const BETWEEN_BACKTICKS = '\u200b';
/** Deeper headings are bold text: Discord does not have them. */
const DEEPEST_HEADING = 3;

const inline: InlineMarkup = {
  open: (mark) => SIGNS[mark],
  close: (mark) => SIGNS[mark],
  text: escapeDiscord,
  code: (text) => (text.includes('`') ? `\`\` ${withoutFences(text)} \`\`` : `\`${text}\``),
  link: (url, written) =>
    `[${written}](${url.replaceAll('(', '%28').replaceAll(')', '%29').replaceAll('>', '%3E')})`,
  address: (text) => text,
  marksEndWithLine: false,
  mayStandBeside: () => true,
};

export const discordMarkdown: Markup = {
  block(block) {
    if (block.kind === 'code') {
      // A quote cannot hold a code block.
      return `\`\`\`${block.language}\n${withoutFences(block.text)}\n\`\`\``;
    }
    const isHeading = block.heading >= 1 && block.heading <= DEEPEST_HEADING && block.marker === null;
    const text = writeSpans(block.spans, inline, isHeading ? ['bold'] : [])
      .split('\n')
      .map(escapeLineStart)
      .join(`\n${indentOf(block)}`);
    const start = isHeading ? `${'#'.repeat(block.heading)} ` : itemStart(block, '-');
    return quoted(start + text, block.quote > 0 ? 1 : 0);
  },
};

/** Escapes only what Discord would read as markup: names with underscores and paths stay readable where the text is shown raw. */
function escapeDiscord(text: string): string {
  return text
    .replaceAll(/\\(?=[!-/:-@[-`{-~])/g, '\\\\')
    .replaceAll('`', '\\`')
    .replaceAll(/\*(?! )|(?<! )\*/g, '\\*')
    .replaceAll(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
    .replaceAll(/~(?=~)|\|(?=\|)/g, '\\$&')
    .replaceAll(/\](?=\()/g, '\\]')
    .replaceAll(/<(?=[@#:]|a:|t:|id:|https?:)/g, '\\<');
}

/** Escapes `#`, `-#`, `>` and `>>>` at the beginning of a line. What looks like a list may stay one. */
function escapeLineStart(line: string): string {
  return line.replace(/^(\s*)(#{1,3} |-# |>{1,3} )/, '$1\\$2');
}

function withoutFences(text: string): string {
  return text.replaceAll(/`(?=`)/g, `\`${BETWEEN_BACKTICKS}`);
}
