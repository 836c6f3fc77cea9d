import type { Block } from '../read/document.ts';
import { type InlineMarkup, type Mark, writeSpans } from './inline-styles.ts';
import { indentOf, itemStart, writePlain } from './line-layout.ts';
import type { Markup } from './markup.ts';

/** https://core.telegram.org/bots/api#html-style: HTML and not MarkdownV2, because it needs three characters escaped and not eighteen. */

const TAGS: Readonly<Record<Mark, string>> = { bold: 'b', italic: 'i', strike: 's' };
/** A word joiner. `@name` would notify the user with that name, and the API cannot prevent it. */
const AFTER_AT = '\u2060';

const inline: InlineMarkup = {
  open: (mark) => `<${TAGS[mark]}>`,
  close: (mark) => `</${TAGS[mark]}>`,
  text: (text) => escapeHtml(withoutMentions(text)),
  code: (text) => `<code>${escapeHtml(text)}</code>`,
  link: (url, written) => `<a href="${escapeHtml(url)}">${written}</a>`,
  // Telegram finds addresses itself, and finds no mention inside them. What it does not find is linked explicitly.
  address: (text, url) =>
    isFoundByTelegram(url)
      ? escapeHtml(text)
      : `<a href="${escapeHtml(url)}">${escapeHtml(withoutMentions(text))}</a>`,
  marksEndWithLine: false,
  mayStandBeside: () => true,
};

export const telegramHtml: Markup = {
  block(block) {
    // A quote cannot hold code.
    if (block.kind === 'code') return codeOf(block.text, block.language);
    const text =
      itemStart(block, '•') + writeSpans(block.spans, inline).replaceAll('\n', `\n${indentOf(block)}`);
    return block.quote > 0 ? `<blockquote>${text}</blockquote>` : text;
  },
  plain: (block: Block) => writePlain(block, withoutMentions),
};

function codeOf(text: string, language: string): string {
  return language === ''
    ? `<pre>${escapeHtml(text)}</pre>`
    : `<pre><code class="language-${escapeHtml(language)}">${escapeHtml(text)}</code></pre>`;
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Telegram finds only addresses with a public-looking host. In others, it reads the part after an `@` as a name. */
function isFoundByTelegram(url: string): boolean {
  return !url.includes('@') || /^mailto:/i.test(url) || new URL(url).hostname.includes('.');
}

/** A mail address has a word before the `@` and stays as it is. */
function withoutMentions(text: string): string {
  return text.replaceAll(/(?<!\w)@(?=\w)/g, `@${AFTER_AT}`);
}
