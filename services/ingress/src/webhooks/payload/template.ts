import { PLACEHOLDER } from '@angelia/config';
import type { HeaderReader } from './header-reader.ts';
import { indentedJson } from './indented-json.ts';
import { lookUp } from './lookup.ts';

/**
 * A template of `prompt`, `title`, `deliver_extra`, `delivery_id` or a session key. It follows the rules of the Hermes
 * webhook adapter:
 *
 * - `{a.b.0.c}` is the value at that path of the payload. Objects and lists become indented JSON, cut at 2,000
 *   characters. Strings are inserted unchanged; numbers, booleans and null as in JSON.
 * - `{__raw__}` is the whole payload as indented JSON, cut at 4,000 characters.
 * - `{event_type}` is the type of the event, or `unknown` if it has none.
 * - `{headers.x-request-id}` is a header of the request, if the payload has no such path and the header is no secret.
 * - A path that the payload does not have stays in the text as written, or is left out (`on_missing: empty`).
 *
 * Beyond Hermes: list indexes work, and only own data properties are reachable (no `length`, nothing inherited).
 * A template is compiled once, when its route is defined. A request only walks the compiled parts.
 */
export interface Template {
  /** Whether any part comes from the request. */
  readonly dynamic: boolean;
  /** The template is a single placeholder with no other text. */
  readonly lone: boolean;
  render(values: TemplateValues, quote?: Quote): string;
  /** null if a placeholder has no value. For ids and addresses: a text with holes would be the same for every request. */
  renderWhole(values: TemplateValues): string | null;
  /** The placeholders that the payload has no value for, each once, as written. */
  missing(values: TemplateValues): readonly string[];
}

export interface TemplateValues {
  readonly payload: unknown;
  readonly event: string | null;
  /** undefined: there are none to read. */
  readonly header?: HeaderReader;
}

/** How a value of the payload is put into the text: `block` for JSON, `text` for strings. */
export type Quote = (value: string, kind: 'block' | 'text') => string;

/** The limits of Hermes: enough to see what happened, and one large payload cannot fill the model's context. */
export const RAW_LIMIT = 4000;
const VALUE_LIMIT = 2000;

const PLACEHOLDERS = new RegExp(PLACEHOLDER, 'g');
const UNKNOWN_EVENT = 'unknown';
const HEADERS = 'headers';

type Part =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'raw' }
  | { readonly kind: 'event' }
  | { readonly kind: 'path'; readonly keys: readonly string[]; readonly source: string };

const NOTHING: readonly string[] = [];

export function compileTemplate(source: string, { leaveOut = false } = {}): Template {
  const parts = parse(source);
  if (parts.every((part) => part.kind === 'literal')) {
    return {
      dynamic: false,
      lone: false,
      render: () => source,
      renderWhole: () => source,
      missing: () => NOTHING,
    };
  }
  return {
    dynamic: true,
    lone: parts.filter((part) => part.kind !== 'literal' || part.text.trim() !== '').length === 1,
    render: (values, quote = asIs) => {
      let text = '';
      for (const part of parts) text += renderPart(part, values, quote) ?? (leaveOut ? '' : asWritten(part));
      return text;
    },
    renderWhole: (values) => {
      let text = '';
      for (const part of parts) {
        const rendered = renderPart(part, values, asIs);
        if (rendered === null) return null;
        text += rendered;
      }
      return text;
    },
    missing: (values) => {
      let found: Set<string> | null = null;
      for (const part of parts) {
        if (part.kind !== 'path' || valueAt(values, part.keys) !== undefined) continue;
        found ??= new Set();
        found.add(part.source);
      }
      return found === null ? NOTHING : [...found];
    },
  };
}

function parse(source: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of source.matchAll(PLACEHOLDERS)) {
    if (match.index > end) parts.push({ kind: 'literal', text: source.slice(end, match.index) });
    parts.push(placeholder(match[0], match[1] ?? ''));
    end = match.index + match[0].length;
  }
  if (end < source.length) parts.push({ kind: 'literal', text: source.slice(end) });
  return parts;
}

function placeholder(source: string, key: string): Part {
  if (key === '__raw__') return { kind: 'raw' };
  if (key === 'event_type') return { kind: 'event' };
  return { kind: 'path', keys: key.split('.'), source };
}

function asWritten(part: Part): string {
  return part.kind === 'path' ? part.source : '';
}

function renderPart(part: Part, values: TemplateValues, quote: Quote): string | null {
  switch (part.kind) {
    case 'literal':
      return part.text;
    case 'event':
      // Quoted, because the sender chooses it, in a header or in the body.
      return quote(values.event ?? UNKNOWN_EVENT, 'text');
    case 'raw':
      return quote(indentedJson(values.payload, RAW_LIMIT), 'block');
    case 'path': {
      const value = valueAt(values, part.keys);
      if (value === undefined) return null;
      if (typeof value === 'string') return quote(value, 'text');
      if (typeof value === 'object' && value !== null && !JSON.isRawJSON(value)) {
        return quote(indentedJson(value, VALUE_LIMIT), 'block');
      }
      return JSON.stringify(value);
    }
  }
}

/** The payload comes first: it may be signed, and a header beside it is not. */
function valueAt({ payload, header }: TemplateValues, keys: readonly string[]): unknown {
  const value = lookUp(payload, keys);
  if (value !== undefined || keys.length !== 2 || keys[0] !== HEADERS) return value;
  return header?.(keys[1] as string);
}

const asIs: Quote = (value) => value;
