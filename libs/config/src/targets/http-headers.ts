import { validateHeaderName, validateHeaderValue } from 'node:http';

/** Set by Angelia or by the connection, so nobody else can. */
const RESERVED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Why a request of the http target cannot have a header of this name; null if it can. */
export function headerNameProblem(name: string): string | null {
  const lower = name.toLowerCase();
  if (RESERVED.has(lower) || lower.startsWith('webhook-')) {
    return 'this header is set by Angelia and cannot be overridden';
  }
  try {
    validateHeaderName(lower);
    return null;
  } catch {
    return 'this is not a name of an HTTP header. Use letters, digits and -.';
  }
}

/** Why a request cannot have a header with this value; null if it can. Never quotes the value: it may be a secret. */
export function headerValueProblem(value: string): string | null {
  try {
    validateHeaderValue('x', value);
    return null;
  } catch {
    return 'this is not a value of an HTTP header. Write one line of Latin letters.';
  }
}
