import { isUtf8 } from 'node:buffer';
import { Refusal } from '../../http/refusal.ts';
import { parseJsonText } from './json-body.ts';

export const FORM_TYPE = 'application/x-www-form-urlencoded';

/** Ten times what web servers take by default: no webhook has as many, and a body of `a&a&a` could have half a million. */
export const MOST_FIELDS = 10_000;

/**
 * `application/x-www-form-urlencoded`: an object of its fields, a field that came several times as a list. GitHub and
 * Slack may send their JSON as the one field `payload`; then that is the payload, as if it had been sent as JSON.
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
  // fromEntries makes own properties of every name, `__proto__` too.
  return typeof only === 'string' && looksLikeJson(only) ? parseJsonText(only) : Object.fromEntries(fields);
}

function looksLikeJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

/** @throws Refusal 400 for a `%` that is not followed by two digits, or that makes bytes which are not UTF-8 */
function decoded(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw new Refusal(
      400,
      'malformed_form',
      'the form is not valid: a percent-encoding in it is broken or not UTF-8',
    );
  }
}
