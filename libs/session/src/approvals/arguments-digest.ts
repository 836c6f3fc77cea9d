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

/**
 * Without recursion: a model can nest deeper than the stack allows, and a call that fails here could be neither denied nor
 * shown.
 */
export function canonicalJson(value: unknown): string {
  const written: string[] = [];
  const todo: ({ readonly text: string } | { readonly value: unknown })[] = [{ value }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    if ('text' in next) {
      written.push(next.text);
      continue;
    }
    const { value } = next;
    if (typeof value !== 'object' || value === null) {
      written.push(JSON.stringify(value));
      continue;
    }
    const isList = Array.isArray(value);
    const members = isList
      ? value.map((inner) => ['', inner] as const)
      : Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, inner]) => [`${JSON.stringify(key)}:`, inner] as const);
    written.push(isList ? '[' : '{');
    // The last comes first, because `todo` is taken from its end.
    todo.push({ text: isList ? ']' : '}' });
    for (const [index, [name, inner]] of [...members.entries()].reverse()) {
      todo.push({ value: inner }, { text: index === 0 ? name : `,${name}` });
    }
  }
  return written.join('');
}
