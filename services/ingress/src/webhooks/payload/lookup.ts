import { toStorable } from '@angelia/event-log';

const INDEX = /^(?:0|[1-9][0-9]{0,8})$/;
/** A longer text in a body's `type` or `id` is not a name. */
const LONGEST_NAME = 200;

/** The own data property at that path, or undefined. JSON has no undefined, so it can stand for "not there". */
export function lookUp(payload: unknown, keys: readonly string[]): unknown {
  let value = payload;
  for (const key of keys) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value)) {
      if (!INDEX.test(key)) return undefined;
      value = value[Number(key)];
    } else {
      if (!Object.hasOwn(value, key)) return undefined;
      value = (value as Record<string, unknown>)[key];
    }
  }
  return value;
}

/** The property `key` of the payload if it is a short text, such as an id or the type of an event. */
export function nameAt(payload: unknown, key: string): string | null {
  const value = propertyOf(payload, key);
  // It goes into the log: a NUL or half a surrogate pair in a body's `type` must not cause a 500.
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME ? toStorable(value) : null;
}

export function propertyOf(payload: unknown, key: string): unknown {
  if (typeof payload !== 'object' || payload === null || !Object.hasOwn(payload, key)) return undefined;
  return (payload as Record<string, unknown>)[key];
}
