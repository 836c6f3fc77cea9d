import { isUtf8 } from 'node:buffer';
import { Refusal } from '../../http/refusal.ts';
import { parseJsonText } from './json-body.ts';

export const FORM_TYPE = 'application/x-www-form-urlencoded';

/** Ten times the default of web servers. No webhook has as many; a body of `a&a&a` could have half a million. */
export const MOST_FIELDS = 10_000;

/**
 * `application/x-www-form-urlencoded` becomes an object of its fields; a repeated field becomes a list. GitHub and Slack
 * may send their JSON as the only field, `payload`. Then that JSON is the payload, as if it had been sent as JSON.
 */
export function parseFormBody(body: Buffer): unknown {
  if (body.length === 0) throw new Refusal(400, 'empty_body', 'the body is empty: send the event in it');
  if (!isUtf8(body)) throw new Refusal(400, 'invalid_utf8', 'the form is not valid UTF-8: send it as UTF-8');
  const fields = new Map<string, string | string[]>();
  let count = 0;
  for (const pair of body.toString('utf8').split('&')) {
    if (pair === '') continue;
    count += 1;
    if (count > MOST_FIELDS) {
      throw new Refusal(400, 'too_many_fields', `the form has more than ${MOST_FIELDS} fields: send fewer`);
    }
    const equals = pair.indexOf('=');
    const name = decoded(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : decoded(pair.slice(equals + 1));
    const before = fields.get(name);
    if (before === undefined) fields.set(name, value);
    else if (typeof before === 'string') fields.set(name, [before, value]);
    else before.push(value);
  }
  const only = fields.size === 1 ? fields.get('payload') : undefined;
  // fromEntries makes every name an own property, even `__proto__`.
  return typeof only === 'string' && looksLikeJson(only) ? parseJsonText(only) : Object.fromEntries(fields);
}

function looksLikeJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

/** @throws Refusal 400 for a `%` without two hex digits after it, or for bytes that are not UTF-8 */
function decoded(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw new Refusal(
      400,
      'malformed_form',
      'the form is not valid: it contains a percent-encoding that is broken or not UTF-8',
    );
  }
}
