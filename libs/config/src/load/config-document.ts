import type { ConfigProblem } from '@angelia/contracts';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLError,
} from 'yaml';
import { ConfigRefused, type LocatedProblem } from '../startup-error.ts';

/** A parsed config file that knows where its keys and values are. */
export interface ConfigDocument {
  /** As problems name it. */
  readonly file: string;
  /** What the file says, before variables are filled in. */
  readonly written: unknown;
  located(problem: ConfigProblem): LocatedProblem;
}

/** @throws ConfigRefused for a syntax error, in our own words and with its place */
export function parseConfigDocument(text: string, file: string): ConfigDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter: lines });
  const at = (offset: number): Pick<LocatedProblem, 'line' | 'column'> => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  // Later errors are mostly consequences of the first.
  const [error] = document.errors;
  if (error !== undefined) {
    const place = placeOf(error, text);
    throw new ConfigRefused(file, [{ path: '', ...at(place), message: syntaxSentence(error, text, place) }]);
  }
  return {
    file,
    written: toJS(document, file, at),
    located: ({ place, reason }) => {
      const offset = offsetOf(document, place, reason.startsWith('unknown key'));
      return { path: place, ...at(offset), message: reason };
    },
  };
}

function toJS(
  document: Document,
  file: string,
  at: (offset: number) => Pick<LocatedProblem, 'line' | 'column'>,
): unknown {
  // Anchors are allowed. The library's default limit on aliases (100) keeps a hostile file small.
  try {
    return document.toJS();
  } catch (cause) {
    const [, name] = /Unresolved alias .*: (.*)$/.exec((cause as Error).message) ?? [];
    const message =
      name === undefined
        ? 'the aliases (*name) repeat too much of the file. Write less with aliases.'
        : `the alias *${name} has no anchor. Write &${name} before the value that it repeats, above this place.`;
    const offset = name === undefined ? 0 : aliasOffset(document.contents, name);
    throw new ConfigRefused(file, [{ path: '', ...at(offset), message }], { cause });
  }
}

function aliasOffset(node: unknown, name: string): number {
  if (isAlias(node)) return node.source === name ? (node.range?.[0] ?? 0) : 0;
  if (isMap(node)) return node.items.map(({ value }) => aliasOffset(value, name)).find(Boolean) ?? 0;
  return isSeq(node) ? (node.items.map((item) => aliasOffset(item, name)).find(Boolean) ?? 0) : 0;
}

/**
 * Where a place such as `routes.r.filters.0.field` begins: the value; for an empty value or an unknown key (`atKey`), the
 * key. If the file does not have the place (a missing key), the innermost key above it that the file has.
 */
function offsetOf(document: Document, place: string, atKey: boolean): number {
  let node: Node | null = document.contents as Node | null;
  let offset = node?.range?.[0] ?? 0;
  let rest = place;
  while (rest !== '' && node !== null) {
    if (isAlias(node)) {
      node = (node.resolve(document) as Node | undefined) ?? null;
      continue;
    }
    const step = stepInto(node, rest);
    if (step === null) break;
    const wantsValue = step.key === null || (step.rest === '' && !atKey);
    offset = (wantsValue ? (startOf(step.value) ?? step.key) : step.key) ?? offset;
    node = step.value;
    rest = step.rest;
  }
  return offset;
}

interface Step {
  /** Where the key begins; null for an item of a list. */
  readonly key: number | null;
  readonly value: Node | null;
  readonly rest: string;
}

function stepInto(node: Node, rest: string): Step | null {
  if (isSeq(node)) {
    const [, index = '', after = ''] = /^(\d+)(?:\.(.*))?$/s.exec(rest) ?? [];
    const item = index === '' ? undefined : node.items[Number(index)];
    return item === undefined ? null : { key: null, value: item as Node, rest: after };
  }
  if (!isMap(node)) return null;
  // A key may hold dots itself, so the longest one that fits counts.
  const fits = node.items
    .map(({ key, value }) => ({ name: isScalar(key) ? String(key.value) : '', key: key as Node, value }))
    .filter(({ name }) => name !== '' && (rest === name || rest.startsWith(`${name}.`)))
    .sort((a, b) => b.name.length - a.name.length);
  const [found] = fits;
  if (found === undefined) return null;
  return {
    key: startOf(found.key),
    value: (found.value as Node | null) ?? null,
    rest: rest.slice(found.name.length + 1),
  };
}

/** Null for an empty value: its range is where the next thing begins. */
function startOf(node: Node | null): number | null {
  if (node?.range == null || (isScalar(node) && node.value === null && node.source === '')) return null;
  return node.range[0];
}

/** An unclosed bracket is reported where its line or the file ends; the place to look at is the bracket. */
function placeOf({ code, pos, message }: YAMLError, text: string): number {
  const end = Math.min(pos[0], text.length);
  if (code !== 'BAD_INDENT' || !message.startsWith('Flow')) return end;
  const opening = message.includes(']') ? '[' : '{';
  const found = text.lastIndexOf(opening, end - 1);
  return found === -1 ? end : found;
}

type SyntaxCode = YAMLError['code'];

/** One sentence for each code of the parser. The compiler holds the table to the parser's list. */
const syntaxSentences: Readonly<Record<SyntaxCode, string>> = {
  ALIAS_PROPS: 'an alias (*name) cannot have an anchor or a tag. Remove them.',
  BAD_ALIAS: 'this is not an alias. Write *name, or put the value in quotes.',
  BAD_COLLECTION_TYPE: 'the tag does not fit the value. Remove the tag.',
  BAD_DIRECTIVE: 'a line that starts with % is a directive of YAML, and this one is unknown. Remove it.',
  BAD_DQ_ESCAPE:
    'a backslash in double quotes begins an escape, and this one is unknown. Write \\\\ or use single quotes.',
  BAD_INDENT:
    'the line does not begin in the same column as the others of its block. Correct its indentation.',
  BAD_PROP_ORDER: 'an anchor or a tag stands in the wrong place. Write it directly before the value.',
  BAD_SCALAR_START: 'a value cannot start with this character. Put the value in quotes.',
  BLOCK_AS_IMPLICIT_KEY:
    'there is a second colon in the line. Put the value in quotes, or move it to a line of its own.',
  BLOCK_IN_FLOW: 'a comma is missing between two entries in brackets or braces. Write it.',
  DUPLICATE_KEY: 'the key occurs twice in the same object. Remove one of them.',
  IMPOSSIBLE: 'the parser cannot read the file here. Correct it.',
  KEY_OVER_1024_CHARS:
    'a key has more than 1024 characters. A quote or a bracket before it may not be closed.',
  MISSING_CHAR: 'a character is missing: a colon after a key, or the end of a quoted text. Write it.',
  MULTILINE_IMPLICIT_KEY: 'a key must end with a colon and a space in its own line. Write them.',
  MULTIPLE_ANCHORS: 'a value can have one anchor (&name) only. Remove the others.',
  MULTIPLE_DOCS: 'the file holds more than one document. Remove the line --- and what follows it.',
  MULTIPLE_TAGS: 'a value can have one tag only. Remove the others.',
  NON_STRING_KEY: 'a key must be a text. Put it in quotes.',
  RESOURCE_EXHAUSTION: 'the file is nested too deep. Make it flatter.',
  TAB_AS_INDENT: 'the line begins with a tab. Indent with spaces.',
  TAG_RESOLVE_FAILED: 'the tag is unknown. Remove it.',
  UNEXPECTED_TOKEN:
    'this cannot stand here. Check the quotes and the indentation of this line and the one before it.',
};

function syntaxSentence({ code, message }: YAMLError, text: string, place: number): string {
  // Everywhere else a variable needs no quotes, so this is the mistake that most files begin with.
  if (text.slice(place - 1, place + 1) === '${') {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what the user should write
    return 'inside { } and [ ], a text with a variable needs quotes. Write "${NAME}".';
  }
  if (code === 'BAD_INDENT' && message.startsWith('Flow')) {
    return `${message.includes(']') ? 'a list is opened with [ and not closed with ]' : 'an object is opened with { and not closed with }'}. Close it.`;
  }
  return syntaxSentences[code];
}
