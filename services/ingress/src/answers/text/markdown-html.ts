import { Lexer, type Token, type Tokens } from 'marked';
import { escaped, visibleText } from './visible-text.ts';

/** The parser's time can grow with the square of its input, and a chat program opens every link. Longer texts stay as they are. */
const MOST_CHARACTERS = 20_000;
/** Deeper than any text that a person reads. */
const MOST_DEPTH = 24;

/**
 * Markdown of strangers, such as a question of a model, as HTML for a page of ours. Every tag is one that this file writes;
 * HTML in the text is shown as it was written. An image is shown as a link, because loading it would tell its server who reads
 * this.
 */
export function markdownHtml(text: string): string {
  const html = parsed(text) ?? `<p class="plain">${textHtml(text)}</p>`;
  return `<div class="markdown" dir="auto">${html}</div>`;
}

function parsed(text: string): string | null {
  if (text.length > MOST_CHARACTERS || deepest(text) > 4 * MOST_DEPTH) return null;
  try {
    return all(new Lexer({ gfm: true, breaks: true }).lex(text), 0);
  } catch {
    return null;
  }
}

/** How deep a line nests quotes and lists, before the parser is asked. */
function deepest(text: string): number {
  let most = 0;
  for (const [start] of text.matchAll(/^[ \t>*+-]+/gm)) {
    most = Math.max(most, start.replaceAll(/\s/g, '').length);
  }
  return most;
}

const textHtml = (text: string): string => escaped(visibleText(text));

function all(tokens: readonly Token[] | undefined, depth: number): string {
  if (tokens === undefined) return '';
  if (depth > MOST_DEPTH) return textHtml(tokens.map(({ raw }) => raw).join(''));
  return tokens.map((token) => one(token, depth + 1)).join('');
}

function one(token: Token, depth: number): string {
  switch (token.type) {
    case 'space':
    case 'def':
    case 'checkbox':
      return '';
    case 'br':
      return '<br>';
    case 'hr':
      return '<hr>';
    case 'code':
      return `<pre><code>${textHtml((token as Tokens.Code).text)}</code></pre>`;
    case 'codespan':
      return `<code>${textHtml((token as Tokens.Codespan).text)}</code>`;
    // Not a heading of the page: the outline of a model's text is not ours.
    case 'heading':
      return `<p><strong>${all(token.tokens, depth)}</strong></p>`;
    case 'paragraph':
      return `<p>${all(token.tokens, depth)}</p>`;
    case 'blockquote':
      return `<blockquote>${all(token.tokens, depth)}</blockquote>`;
    case 'strong':
    case 'em':
    case 'del':
      return `<${token.type}>${all(token.tokens, depth)}</${token.type}>`;
    case 'list':
      return list(token as Tokens.List, depth);
    case 'table':
      return table(token as Tokens.Table, depth);
    case 'link': {
      const { href, tokens, text } = token as Tokens.Link;
      return link(href, text, all(tokens, depth));
    }
    case 'image': {
      const { href, text } = token as Tokens.Image;
      const name = `[image: ${text === '' ? 'without a description' : text}]`;
      return link(href, name, textHtml(name));
    }
    case 'text':
    case 'escape': {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? textHtml(text) : all(tokens, depth);
    }
    // HTML, and tokens that only a newer parser knows, are shown as they were written.
    default:
      return textHtml(token.raw);
  }
}

function list({ ordered, start, items }: Tokens.List, depth: number): string {
  const written = items.map(({ task, checked, tokens }) => {
    const mark = task ? (checked === true ? '☑ ' : '☐ ') : '';
    return `<li>${mark}${all(tokens, depth)}</li>`;
  });
  if (!ordered) return `<ul>${written.join('')}</ul>`;
  const first = Math.trunc(Number(start));
  return `<ol start="${Number.isSafeInteger(first) ? first : 1}">${written.join('')}</ol>`;
}

function table({ header, rows }: Tokens.Table, depth: number): string {
  const row = (cells: readonly Tokens.TableCell[], tag: 'th' | 'td') =>
    `<tr>${cells.map(({ tokens }) => `<${tag}>${all(tokens, depth)}</${tag}>`).join('')}</tr>`;
  return `<table><thead>${row(header, 'th')}</thead><tbody>${rows.map((cells) => row(cells, 'td')).join('')}</tbody></table>`;
}

/**
 * The link shows its address, because a stranger wrote its text. The page behind it gets neither our address, which is a key,
 * nor access to our window.
 */
function link(href: string, text: string, html: string): string {
  const url = webAddress(href);
  if (url === null) return html;
  const told = text.includes(url.host) ? '' : ` <small>(${textHtml(url.host)})</small>`;
  return `<a href="${escaped(url.href)}" target="_blank" rel="noopener noreferrer nofollow">${html}</a>${told}`;
}

/** Null: not an address that a page of ours leads to, such as `javascript:` or a path of the gateway. */
function webAddress(href: string): URL | null {
  try {
    const url = new URL(href);
    return ['http:', 'https:'].includes(url.protocol) ? url : null;
  } catch {
    return null;
  }
}
