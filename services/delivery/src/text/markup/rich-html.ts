import type { TextBlock } from '../read/document.ts';
import { type InlineMarkup, type Mark, writeSpans } from './inline-styles.ts';
import { writePlain } from './line-layout.ts';
import type { Markup } from './markup.ts';

/**
 * HTML for mail and for Matrix (only the tags of `org.matrix.custom.html`). It is made from the parsed text alone, and every
 * character is escaped: nothing that an agent writes becomes a tag, an attribute or a script.
 */

const TAGS: Readonly<Record<Mark, string>> = { bold: 'strong', italic: 'em', strike: 'del' };

const inline: InlineMarkup = {
  open: (mark) => `<${TAGS[mark]}>`,
  close: (mark) => `</${TAGS[mark]}>`,
  text: escapeHtml,
  code: (text) => `<code>${escapeHtml(text)}</code>`,
  link: (url, label) => `<a href="${escapeHtml(url)}">${label}</a>`,
  address: (text, url) => `<a href="${escapeHtml(url)}">${escapeHtml(text)}</a>`,
  marksEndWithLine: false,
  mayStandBeside: () => true,
};

export const richHtml: Markup = {
  block(block) {
    const html = block.kind === 'code' ? codeOf(block.text, block.language) : lineOf(block);
    return '<blockquote>'.repeat(block.quote) + html + '</blockquote>'.repeat(block.quote);
  },
  plain: (block) => writePlain(block, (text) => text),
};

/** Each item is written as its own list, so that a message can be cut anywhere. This joins lists that follow each other. */
export function joinLists(html: string): string {
  return html.replaceAll(/<\/(ul|ol)>\n<\1(?: start="\d+")?>/g, '\n');
}

function lineOf(block: TextBlock): string {
  const isHeading = block.heading > 0 && block.marker === null;
  const text = writeSpans(block.spans, inline, isHeading ? ['bold'] : []).replaceAll('\n', '<br>');
  if (isHeading) return `<h${block.heading}>${text}</h${block.heading}>`;
  if (block.marker === null) return `<p>${text}</p>`;
  const [open, close] =
    block.marker.kind === 'bullet' ? ['<ul>', '</ul>'] : [`<ol start="${block.marker.number}">`, '</ol>'];
  return `${'<ul>'.repeat(block.indent)}${open}<li>${text}</li>${close}${'</ul>'.repeat(block.indent)}`;
}

function codeOf(text: string, language: string): string {
  const name = /^[\w+#.-]+/.exec(language)?.[0];
  const attribute = name === undefined ? '' : ` class="language-${escapeHtml(name)}"`;
  return `<pre><code${attribute}>${escapeHtml(text)}</code></pre>`;
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
