import type {
  Code,
  Definition,
  List,
  ListItem,
  Nodes,
  PhrasingContent,
  Root,
  RootContent,
  Table,
} from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { type Block, type Marker, mergeSpans, PLAIN_STYLE, type Span, type Style } from './document.ts';
import { sectionsOf } from './parse-sections.ts';

/** A longer address is written beside its label: inside markup it could fill a whole message and cannot be cut. */
const MAX_LINK = 1_000;
const RULE = '———';
/** The language of a code block. Longer info is something else, and would take space in every part of the block. */
const LANGUAGE = /^[\w+#.-]{1,40}$/;
/** The same for Markdown that is cut as written. */
const MAX_INFO = 100;

/** Columns are aligned unless that would add mostly blanks: one long cell in a thousand rows would add megabytes. */
const MAX_GROWTH = 4;
const SMALL_TABLE = 2_000;

/** Nothing that the Markdown shows is lost: what no platform has (HTML, images, tables) is written as text. */
export function readMarkdown(source: string): Block[] {
  return read(source.toWellFormed(), (text, root) => new Reader(text, root).blocks(root.children, TOP));
}

/** The source cut between its top-level blocks. Everything is as written except code blocks, which must be recognised. */
export function readSource(source: string): Block[] {
  return read(source, (text, root) =>
    root.children.map((node) => {
      const info = node.type === 'code' ? [node.lang, node.meta].filter(Boolean).join(' ') : '';
      return node.type === 'code' && info.length <= MAX_INFO
        ? codeBlock(node.value, info, TOP)
        : verbatim(sourceOf(text, node));
    }),
  );
}

function read(source: string, blocksOf: (text: string, root: Root) => Block[]): Block[] {
  return sectionsOf(source).flatMap(({ text, parse }) => {
    if (!parse) return [verbatim(text.trimEnd())];
    try {
      return blocksOf(
        text,
        fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }),
      );
    } catch (error) {
      // Nested deeper than the stack allows. Somebody still waits for the text.
      if (error instanceof RangeError) return [verbatim(text.trimEnd())];
      throw error;
    }
  });
}

function verbatim(text: string): Block {
  return textBlock([{ text, style: PLAIN_STYLE }], TOP);
}

function sourceOf(source: string, node: Nodes): string {
  return source.slice(node.position?.start.offset ?? 0, node.position?.end.offset ?? 0);
}

interface Position {
  readonly indent: number;
  readonly quote: number;
  readonly tight: boolean;
  readonly marker: Marker | null;
  readonly hanging: boolean;
}

const TOP: Position = { indent: 0, quote: 0, tight: false, marker: null, hanging: false };

function textBlock(spans: readonly Span[], where: Position, heading = 0): Block {
  return { kind: 'text', spans: mergeSpans(spans), heading, ...where };
}

class Reader {
  readonly #source: string;
  readonly #definitions = new Map<string, Definition>();
  readonly #used = new Set<string>();

  constructor(source: string, root: Root) {
    this.#source = source;
    this.#collect(root);
  }

  /** A link may name a definition that comes later. */
  #collect(node: Nodes): void {
    // CommonMark: the first definition of a name counts.
    if (node.type === 'definition' && !this.#definitions.has(node.identifier))
      this.#definitions.set(node.identifier, node);
    if (node.type === 'linkReference' || node.type === 'imageReference') this.#used.add(node.identifier);
    if ('children' in node) for (const child of node.children) this.#collect(child);
  }

  blocks(nodes: readonly RootContent[], where: Position): Block[] {
    return nodes.flatMap((node, index) => this.#block(node, index === 0 ? where : following(where)));
  }

  #block(node: RootContent, where: Position): Block[] {
    switch (node.type) {
      case 'paragraph':
        return [textBlock(this.#spans(node.children, PLAIN_STYLE), where)];
      case 'heading':
        // In a quote it is bold text, so that the quote stays one block.
        return [
          textBlock(
            this.#spans(node.children, { ...PLAIN_STYLE, bold: true }),
            where,
            where.quote === 0 ? node.depth : 0,
          ),
        ];
      case 'thematicBreak':
        return [textBlock([{ text: RULE, style: PLAIN_STYLE }], where)];
      case 'blockquote':
        return joinQuoted(this.blocks(node.children, { ...where, quote: where.quote + 1 }));
      case 'list':
        return this.#list(node, where);
      case 'code':
        return this.#code(node, where);
      case 'table':
        return [...markerAlone(where), codeBlock(this.#table(node), '', where)];
      case 'definition':
        // A definition that a link uses is shown there.
        return this.#definitions.get(node.identifier) === node && this.#used.has(node.identifier)
          ? []
          : [this.#literal(node, where)];
      case 'footnoteDefinition': {
        const [first, ...rest] = this.blocks(node.children, where);
        const label: Span = { text: `[^${node.label ?? node.identifier}]: `, style: PLAIN_STYLE };
        if (first?.kind === 'text')
          return [{ ...first, spans: mergeSpans([label, ...first.spans]) }, ...rest];
        return [textBlock([label], where), ...(first ? [first] : []), ...rest];
      }
      default:
        return [this.#literal(node, where)];
    }
  }

  /** If a fence has more than the name of a language, that text is shown above the code. */
  #code({ value, lang, meta }: Code, where: Position): Block[] {
    const info = [lang, meta].filter(Boolean).join(' ');
    if (info === '' || LANGUAGE.test(info)) return [...markerAlone(where), codeBlock(value, info, where)];
    const title = textBlock([{ text: info, style: PLAIN_STYLE }], where);
    return [title, { ...codeBlock(value, '', where), tight: true }];
  }

  #list(list: List, where: Position): Block[] {
    const inItem = where.marker !== null || where.hanging;
    const indent = inItem ? where.indent + 1 : where.indent;
    return list.children.flatMap((item, index) => {
      const marker: Marker = list.ordered
        ? { kind: 'number', number: (list.start ?? 1) + index }
        : { kind: 'bullet' };
      return [
        // The list is the first block of an item: the item's own marker gets a line of its own.
        ...(index === 0 ? markerAlone(where) : []),
        ...this.#item(item, {
          indent,
          quote: where.quote,
          tight: index === 0 ? inItem || where.tight : list.spread !== true,
          marker,
          hanging: false,
        }),
      ];
    });
  }

  #item(item: ListItem, where: Position): Block[] {
    const blocks = this.blocks(item.children, where);
    if (blocks.length === 0) blocks.push(textBlock([], where));
    if (item.checked === null || item.checked === undefined) return blocks;
    const box: Span = { text: item.checked ? '[x] ' : '[ ] ', style: PLAIN_STYLE };
    const [first, ...rest] = blocks;
    return first?.kind === 'text'
      ? [{ ...first, spans: mergeSpans([box, ...first.spans]) }, ...rest]
      : [textBlock([box], where), ...blocks];
  }

  #literal(node: Nodes, where: Position): Block {
    return textBlock([{ text: sourceOf(this.#source, node), style: PLAIN_STYLE }], where);
  }

  #spans(nodes: readonly PhrasingContent[], style: Style): Span[] {
    return nodes.flatMap((node) => this.#span(node, style));
  }

  #span(node: PhrasingContent, style: Style): Span[] {
    switch (node.type) {
      case 'text':
        return [{ text: node.value, style }];
      case 'strong':
        return this.#spans(node.children, { ...style, bold: true });
      case 'emphasis':
        return this.#spans(node.children, { ...style, italic: true });
      case 'delete':
        return this.#spans(node.children, { ...style, strike: true });
      case 'inlineCode':
        return [{ text: node.value, style: { ...style, code: true } }];
      case 'break':
        return [{ text: '\n', style }];
      case 'link':
        return linked(this.#spans(node.children, style), node.url, style);
      case 'image':
        return linked([{ text: node.alt || node.url, style }], node.url, style);
      case 'linkReference':
      case 'imageReference': {
        const definition = this.#definitions.get(node.identifier);
        if (!definition) return [{ text: sourceOf(this.#source, node), style }];
        const label =
          node.type === 'linkReference'
            ? this.#spans(node.children, style)
            : [{ text: node.alt || definition.url, style }];
        return linked(label, definition.url, style);
      }
      case 'footnoteReference':
        return [{ text: `[^${node.label ?? node.identifier}]`, style }];
      default:
        return [{ text: sourceOf(this.#source, node), style }];
    }
  }

  /** Columns in a fixed-width font: no platform has tables. */
  #table(table: Table): string {
    const rows = table.children.map((row) =>
      row.children.map((cell) =>
        writtenOut(this.#spans(cell.children, PLAIN_STYLE)).replaceAll('\n', ' ').trim(),
      ),
    );
    const columns = Math.max(0, ...rows.map((row) => row.length));
    const widest = Array.from({ length: columns }, (_, column) =>
      Math.max(0, ...rows.map((row) => widthOf(row[column] ?? ''))),
    );
    const content = sum(rows.flat().map(widthOf));
    const widths =
      rows.length * sum(widest) <= MAX_GROWTH * content + SMALL_TABLE ? widest : widest.map(() => 1);
    const lines = rows.map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
        .join(' | ')
        .trimEnd(),
    );
    lines.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('-|-'));
    return lines.join('\n');
  }
}

/** Blocks after the first of an item have no marker and are indented like its text. */
function following(where: Position): Position {
  return { ...where, marker: null, tight: false, hanging: where.hanging || where.marker !== null };
}

/** For a list item that begins with a code block, a table or another list: its marker gets a line of its own. */
function markerAlone(where: Position): Block[] {
  return where.marker === null ? [] : [textBlock([], where)];
}

function codeBlock(text: string, language: string, where: Position): Block {
  const { indent, quote, marker } = where;
  return { kind: 'code', text, language, indent, quote, tight: where.tight || marker !== null };
}

/** Joins the paragraphs of a quote into one block, so that platforms show one quote and not several. */
function joinQuoted(blocks: readonly Block[]): Block[] {
  const joined: Block[] = [];
  for (const block of blocks) {
    const last = joined.at(-1);
    if (
      block.kind === 'text' &&
      last?.kind === 'text' &&
      block.quote === last.quote &&
      block.marker === null &&
      last.marker === null &&
      !block.hanging &&
      !last.hanging
    ) {
      const gap: Span = { text: block.tight ? '\n' : '\n\n', style: PLAIN_STYLE };
      joined[joined.length - 1] = { ...last, spans: mergeSpans([...last.spans, gap, ...block.spans]) };
    } else {
      joined.push(block);
    }
  }
  return joined;
}

/** Only web and mail addresses become links: `tg://user?id=1` would ping somebody, and others lead nowhere in a chat. */
function linked(label: readonly Span[], url: string, style: Style): Span[] {
  const text = label.map((span) => span.text).join('');
  if (canBeFollowed(url)) {
    const shown = text.trim() === '' ? [{ text: url, style }] : label;
    return shown.map((span) => ({ ...span, style: { ...span.style, link: url } }));
  }
  if (url === '' || showsAddress(text, url)) return [...label];
  return [...label, { text: text.trim() === '' ? url : ` (${url})`, style }];
}

function canBeFollowed(url: string): boolean {
  return url.length <= MAX_LINK && /^(https?:\/\/|mailto:)[^\s]+$/i.test(url) && URL.canParse(url);
}

/** Spans as plain text, with addresses beside their labels. */
export function writtenOut(spans: readonly Span[]): string {
  return spans
    .map(({ text, style }, index) => {
      const { link } = style;
      // A label with several styles is several spans. The address follows the last.
      if (link === null || spans[index + 1]?.style.link === link) return text;
      const label = labelBefore(spans, index);
      return showsAddress(label, link) ? text : `${text} (${link})`;
    })
    .join('');
}

function labelBefore(spans: readonly Span[], last: number): string {
  let label = '';
  for (let index = last; index >= 0 && spans[index]?.style.link === spans[last]?.style.link; index--)
    label = (spans[index]?.text ?? '') + label;
  return label;
}

/** Is the label the address itself, perhaps without its scheme? */
export function showsAddress(label: string, link: string): boolean {
  return label === link || link === `mailto:${label}` || link === `http://${label}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Counts code points, not how wide they are drawn: good enough to align columns. */
function widthOf(text: string): number {
  return [...text].length;
}
