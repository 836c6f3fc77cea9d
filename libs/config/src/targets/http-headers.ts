import { validateHeaderName, validateHeaderValue } from 'node:http';

/** Ours or the connection's: nobody else can set them. */
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

/** Why what the http target posts cannot have a header of this name; null when it can. */
export function headerNameProblem(name: string): string | null {
  const lower = name.toLowerCase();
  if (RESERVED.has(lower) || lower.startsWith('webhook-')) {
    return 'this header is set by Angelia and cannot be overridden';
  }
  try {
    validateHeaderName(lower);
    return null;
  } catch {
    return 'is no name of an HTTP header';
  }
}

/** The same of its value, which is not repeated: it may be a secret. */
export function headerValueProblem(value: string): string | null {
  try {
    validateHeaderValue('x', value);
    return null;
  } catch {
    return 'is no value of an HTTP header: one line of Latin letters';
  }
}
