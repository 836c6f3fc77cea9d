import { hash } from 'node:crypto';

/**
 * The arguments of a tool call as JSON that does not depend on how they were written: keys in order, no spaces, each key
 * once. Two texts have the same form exactly if a tool that parses them gets the same.
 */
export function canonicalArguments(written: string): string {
  const parsed = parsedArguments(written);
  // No tool accepts what is not JSON. It is still a text that must not change.
  return parsed === undefined ? JSON.stringify(written) : canonicalJson(parsed);
}

export function digestOfArguments(written: string): string {
  return hash('sha256', canonicalArguments(written));
}

/** Undefined: it is not JSON. Some models write nothing if a call has no arguments. */
export function parsedArguments(written: string): unknown {
  try {
    return written.trim() === '' ? {} : JSON.parse(written);
  } catch {
    return undefined;
  }
}

function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`).join(',')}}`;
}
