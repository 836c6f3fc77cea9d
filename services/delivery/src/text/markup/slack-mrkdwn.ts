import type { Block } from '../read/document.ts';
import { type InlineMarkup, type Mark, writeSpans } from './inline-styles.ts';
import { indentOf, itemStart, quoted, writePlain } from './line-layout.ts';
import type { Markup } from './markup.ts';

/** https://docs.slack.dev/messaging/formatting-message-text: `&`, `<` and `>` are escaped, which also makes `<!channel>` and `<@U1>` text. */

const SIGNS: Readonly<Record<Mark, string>> = { bold: '*', italic: '_', strike: '~' };
/** mrkdwn cannot escape its signs. This, between backticks, keeps three of them from opening or ending a code block. */
const BETWEEN_BACKTICKS = '\u200b';

const inline: InlineMarkup = {
  open: (mark) => SIGNS[mark],
  close: (mark) => SIGNS[mark],
  text: (text) => withoutFences(escapeSlack(text)),
  // A backtick inside would end the code.
  code: (text) => (/[`\n]/.test(text) ? withoutFences(escapeSlack(text)) : `\`${escapeSlack(text)}\``),
  // Here `|` and `>` end the address, even if they are escaped.
  link: (url, written) => `<${addressOf(url)}|${written.replaceAll('|', '¦')}>`,
  address: (text, url) => (text === url ? `<${addressOf(url)}>` : `<${addressOf(url)}|${escapeSlack(text)}>`),
  marksEndWithLine: true,
  mayStandBeside: (character) => !/[\p{L}\p{N}_]/u.test(character),
};

export const slackMrkdwn: Markup = {
  block(block) {
    if (block.kind === 'code') {
      // Slack would show the name of the language as the first line.
      const text = withoutFences(escapeSlack(block.text));
      return `\`\`\`\n${text}\n\`\`\``;
    }
    const text = writeSpans(block.spans, inline).replaceAll('\n', `\n${indentOf(block)}`);
    return quoted(itemStart(block, '•') + text, block.quote > 0 ? 1 : 0);
  },
  plain: (block: Block) => withoutFences(escapeSlack(writePlain(block, (text) => text))),
};

function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function addressOf(url: string): string {
  return escapeSlack(url.replaceAll('|', '%7C').replaceAll('<', '%3C').replaceAll('>', '%3E'));
}

function withoutFences(text: string): string {
  return text.replaceAll(/`(?=`)/g, `\`${BETWEEN_BACKTICKS}`);
}
