import { Lexer, type Token, type Tokens } from 'marked';
import { visibleText } from '../text/visible-text.ts';

/**
 * Markdown of strangers as a tree of what may be shown. There is no HTML in it, and none is made of it: the view makes elements
 * of these nodes, and every text is a text node. An image is a link, because to load it tells its server who reads this.
 */
export type SafeNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'break' }
  | { readonly kind: 'rule' }
  | { readonly kind: 'block'; readonly text: string; readonly language: string }
  | { readonly kind: 'link'; readonly href: string; readonly children: readonly SafeNode[] }
  | { readonly kind: 'image'; readonly href: string | null; readonly text: string }
  | { readonly kind: 'strong' | 'em' | 'del' | 'paragraph' | 'quote'; readonly children: readonly SafeNode[] }
  | { readonly kind: 'heading'; readonly level: number; readonly children: readonly SafeNode[] }
  | {
      readonly kind: 'list';
      readonly start: number | null;
      readonly items: readonly { readonly checked: boolean | null; readonly children: readonly SafeNode[] }[];
    }
  | {
      readonly kind: 'table';
      readonly header: readonly (readonly SafeNode[])[];
      readonly rows: readonly (readonly (readonly SafeNode[])[])[];
    };

/** The parser's time can grow with the square of its input. Longer texts are shown as they are. */
export const MOST_CHARACTERS = 100_000;
/** Deeper than any text that a person reads. A thousand nested quotes must not use up the stack. */
const MOST_DEPTH = 24;

/** Null: too long, or not parsable: show the text as it is. */
export function safeMarkdown(text: string): readonly SafeNode[] | null {
  if (text.length > MOST_CHARACTERS || deepest(text) > 4 * MOST_DEPTH) return null;
  try {
    return safeNodes(new Lexer({ gfm: true, breaks: true }).lex(text), 0);
  } catch {
    return null;
  }
}

/** How deep a line nests quotes and lists, before a parser is asked. */
function deepest(text: string): number {
  let most = 0;
  for (const [start] of text.matchAll(/^[ \t>*+-]+/gm))
    most = Math.max(most, start.replaceAll(/\s/g, '').length);
  return most;
}

function safeNodes(tokens: readonly Token[] | undefined, depth: number): readonly SafeNode[] {
  if (tokens === undefined) return [];
  if (depth > MOST_DEPTH) return tokens.map((token) => textNode(token.raw));
  return tokens.flatMap((token) => safeNode(token, depth + 1));
}

function safeNode(token: Token, depth: number): readonly SafeNode[] {
  switch (token.type) {
    case 'space':
    case 'def':
      return [];
    case 'br':
      return [{ kind: 'break' }];
    case 'hr':
      return [{ kind: 'rule' }];
    case 'code': {
      const { text, lang } = token as Tokens.Code;
      return [{ kind: 'block', text: visibleText(text), language: visibleText(lang ?? '').slice(0, 40) }];
    }
    case 'codespan':
      return [{ kind: 'code', text: visibleText((token as Tokens.Codespan).text) }];
    case 'heading': {
      const { depth: level, tokens } = token as Tokens.Heading;
      return [{ kind: 'heading', level, children: safeNodes(tokens, depth) }];
    }
    case 'paragraph':
      return [{ kind: 'paragraph', children: safeNodes(token.tokens, depth) }];
    case 'blockquote':
      return [{ kind: 'quote', children: safeNodes(token.tokens, depth) }];
    case 'strong':
    case 'em':
    case 'del':
      return [{ kind: token.type, children: safeNodes(token.tokens, depth) }];
    case 'list': {
      const { ordered, start, items } = token as Tokens.List;
      return [
        {
          kind: 'list',
          start: ordered ? Number(start) || 1 : null,
          items: items.map((item) => ({
            checked: item.task ? item.checked === true : null,
            children: safeNodes(
              item.tokens.filter(({ type }) => type !== 'checkbox'),
              depth,
            ),
          })),
        },
      ];
    }
    case 'table': {
      const { header, rows } = token as Tokens.Table;
      return [
        {
          kind: 'table',
          header: header.map((cell) => safeNodes(cell.tokens, depth)),
          rows: rows.map((row) => row.map((cell) => safeNodes(cell.tokens, depth))),
        },
      ];
    }
    case 'link': {
      const { href, tokens } = token as Tokens.Link;
      const children = safeNodes(tokens, depth);
      const safe = safeHref(href);
      return safe === null ? children : [{ kind: 'link', href: safe, children }];
    }
    case 'image': {
      const { href, text } = token as Tokens.Image;
      return [{ kind: 'image', href: safeHref(href), text: visibleText(text) }];
    }
    case 'text':
    case 'escape': {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? [textNode(text)] : safeNodes(tokens, depth);
    }
    // HTML, and whatever a newer parser knows: as it was written.
    default:
      return [textNode(token.raw)];
  }
}

const textNode = (text: string): SafeNode => ({ kind: 'text', text: visibleText(text) });

/** Null: not a link that a page may have. `javascript:`, `data:` and paths into the console itself are none. */
export function safeHref(href: string): string | null {
  try {
    const url = new URL(href);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
