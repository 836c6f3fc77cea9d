import { isUtf8 } from 'node:buffer';
import { Refusal } from '../../http/refusal.ts';

/**
 * JSON.parse changes numbers that a double cannot hold (mostly ids of 64 bits), and a prompt would silently show the
 * wrong id. Bodies with such long runs of digits take a slower path that keeps the digits.
 */
const LONG_NUMBER = /[0-9]{16}/;
const BOM = '\uFEFF';
const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json$/;

export function isJsonType(mediaType: string): boolean {
  return JSON_TYPE.test(mediaType);
}

/** `Application/JSON; charset=utf-8` -> `application/json`; '' when there is no such header. */
export function mediaTypeOf(contentType: string | undefined): string {
  if (contentType === undefined) return '';
  const end = contentType.indexOf(';');
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

export function parseJsonBody(body: Buffer): unknown {
  if (body.length === 0) throw new Refusal(400, 'empty_body', 'the body is empty: send the event as JSON');
  if (!isUtf8(body)) {
    throw new Refusal(
      400,
      'invalid_utf8',
      `the body is not valid UTF-8 (first bad byte at offset ${firstInvalidByte(body)}): send JSON as UTF-8`,
    );
  }
  const decoded = body.toString('utf8');
  return parseJsonText(decoded.startsWith(BOM) ? decoded.slice(1) : decoded);
}

export function parseJsonText(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    // The reviver recurses; JSON.parse does not.
    if (error instanceof RangeError) {
      throw new Refusal(400, 'too_deep', 'the JSON body is nested too deeply: flatten it');
    }
    throw new Refusal(400, 'malformed_json', `the body is not valid JSON: ${whereItBreaks(error, text)}`);
  }
}

/** @throws SyntaxError, or RangeError if it is nested too deeply */
export function parseExactJson(text: string): unknown {
  return LONG_NUMBER.test(text) ? JSON.parse(text, keepExactNumbers) : JSON.parse(text);
}

function keepExactNumbers(
  this: unknown,
  _key: string,
  value: unknown,
  context?: { source?: string },
): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || context?.source === undefined) return value;
  return JSON.rawJSON(context.source);
}

/** V8 has these since 11.4 (Node 22); TypeScript's library does not yet. */
declare global {
  interface JSON {
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

/** V8 quotes the body in some of its messages. The sender needs only the place and the reason. */
function whereItBreaks(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : String(error);
  const position = /at position (\d+)/.exec(message)?.[1];
  const reason = message.replace(/ in JSON at position.*$/s, '').replace(/, (?:\.\.\.)?".*$/s, '');
  if (position === undefined) {
    return message.startsWith('Unexpected end')
      ? `it ends too early, after ${text.length} characters`
      : reason;
  }
  const before = text.slice(0, Number(position));
  const line = before.split('\n').length;
  const column = before.length - before.lastIndexOf('\n');
  return `${reason} (line ${line}, column ${column})`;
}

/** Only for the error message of a body that is refused. */
function firstInvalidByte(body: Buffer): number {
  let valid = 0;
  let invalid = body.length;
  // Binary search. A prefix counts as valid even if its last character is cut off (at most 3 bytes are missing).
  while (valid < invalid) {
    const middle = Math.floor((valid + invalid + 1) / 2);
    if (isUtf8Prefix(body.subarray(0, middle))) valid = middle;
    else invalid = middle - 1;
  }
  return valid;
}

function isUtf8Prefix(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
