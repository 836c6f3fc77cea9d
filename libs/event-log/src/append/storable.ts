import { UnstorableEvent } from '../errors.ts';

/**
 * Postgres' jsonb and text hold neither U+0000 nor half a surrogate pair. Model and tool output can have both. The log
 * refuses them and changes nothing by itself. A caller that quotes foreign output passes it through `toStorable` first,
 * which puts U+FFFD in their place.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: U+0000 is what it looks for.
const UNSTORABLE = /\u0000|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function toStorable<T>(value: T): T;
export function toStorable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map((item) => toStorable(item));
  if (typeof value === 'object' && value !== null && isPlain(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [storableText(key), toStorable(item)]),
    );
  }
  return value;
}

function storableText(text: string): string {
  return text.isWellFormed() && !text.includes('\u0000') ? text : text.replace(UNSTORABLE, '\ufffd');
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * JSON.stringify writes both as escapes (`\u0000`, `\ud83d`) and whole pairs as themselves, so that nearly every event is
 * cleared by one search for `\u`. Backslashes come in pairs except before an escape: skip the pairs.
 */
const ESCAPE = /\\(?:u(?:0000|d[89a-f][0-9a-f]{2})|(.))/g;

function hasUnstorableEscape(json: string): boolean {
  if (!json.includes('\\u')) return false;
  for (const match of json.matchAll(ESCAPE)) if (match[1] === undefined) return true;
  return false;
}

/** The JSON text of a value, or an error that names the event. */
export function toStorableJson(value: unknown, what: string): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    // A cycle, a bigint, or nesting too deep for the stack.
    throw new UnstorableEvent(`${what} cannot be turned into JSON (${String(error)})`, { cause: error });
  }
  if (json === undefined) throw new UnstorableEvent(`${what} is not a JSON value`);
  if (hasUnstorableEscape(json)) {
    throw new UnstorableEvent(
      `${what} holds U+0000 or half a surrogate pair, which Postgres cannot store: pass foreign text through toStorable()`,
    );
  }
  return json;
}
