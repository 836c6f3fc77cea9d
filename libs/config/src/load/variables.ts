import type { ConfigProblem } from '@angelia/contracts';
import { type Variable, VariableText } from './variable-text.ts';

/** `$${NAME}` is a literal `${NAME}`. */
const REFERENCE = /\$?\$\{([^}]*)\}?/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

type Resolve = (name: string, whole: string) => { readonly value: string } | { readonly reason: string };

/** Fills in `${NAME}` in every string value, from the environment. Adds a problem for each that it cannot fill in. */
export function fillVariables(value: unknown, env: NodeJS.ProcessEnv, problems: ConfigProblem[]): unknown {
  const resolve: Resolve = (name, whole) => {
    if (!NAME.test(name) || !whole.endsWith('}')) {
      return {
        reason: `\`${whole}\` is not a reference to a variable. Write \${NAME}, or $\${ for a literal \${.`,
      };
    }
    const found = env[name];
    return found === undefined || found === ''
      ? { reason: `the environment variable ${name} is not set` }
      : { value: found };
  };
  return replaceAll(value, resolve, problems, []);
}

/** The same value with a VariableText in place of each string that names variables. `fillVariables` found no problem in it. */
export function withVariableTexts(value: unknown, env: NodeJS.ProcessEnv): unknown {
  if (typeof value === 'string') return variableText(value, env);
  if (Array.isArray(value)) return value.map((item) => withVariableTexts(item, env));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withVariableTexts(item, env)]));
}

function variableText(text: string, env: NodeJS.ProcessEnv): string | VariableText {
  const parts: (string | Variable)[] = [];
  const values = new Map<string, string>();
  let literal = '';
  let end = 0;
  for (const match of text.matchAll(REFERENCE)) {
    const [whole, name = ''] = match;
    literal += text.slice(end, match.index);
    end = match.index + whole.length;
    if (whole.startsWith('$$')) {
      literal += whole.slice(1);
      continue;
    }
    if (literal !== '') parts.push(literal);
    literal = '';
    parts.push({ name });
    values.set(name, env[name] ?? '');
  }
  literal += text.slice(end);
  if (literal !== '') parts.push(literal);
  return values.size === 0 ? literal : new VariableText(parts, values);
}

/** The names of all variables that a value refers to. */
export function variablesIn(value: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  const note: Resolve = (name) => {
    names.add(name);
    return { value: '' };
  };
  replaceAll(value, note, [], []);
  return names;
}

/**
 * A route made by API, with every `$${NAME}` replaced by the literal. `${NAME}` is a problem: a client that may make routes
 * must not read the environment, and as a literal it would be a secret that everybody knows.
 */
export function literalApiRoute(
  definition: Readonly<Record<string, unknown>>,
  problems: ConfigProblem[],
): Record<string, unknown> {
  const resolve: Resolve = (_name, whole) => ({
    reason:
      `\`${whole}\` is not filled in here: environment variables are for the config file. ` +
      `Write the value itself, or \`$${whole}\` for a literal \`${whole}\`.`,
  });
  return replaceAll(definition, resolve, problems, []) as Record<string, unknown>;
}

function replaceAll(
  value: unknown,
  resolve: Resolve,
  problems: ConfigProblem[],
  path: readonly string[],
): unknown {
  const replaceInner = (item: unknown, key: string | number) =>
    replaceAll(item, resolve, problems, [...path, String(key)]);
  if (typeof value === 'string') return replaceIn(value, resolve, problems, path);
  if (Array.isArray(value)) return value.map(replaceInner);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceInner(item, key)]));
}

function replaceIn(
  text: string,
  resolve: Resolve,
  problems: ConfigProblem[],
  path: readonly string[],
): string {
  return text.replace(REFERENCE, (whole, name: string) => {
    if (whole.startsWith('$$')) return whole.slice(1);
    const resolved = resolve(name, whole);
    if ('value' in resolved) return resolved.value;
    problems.push({ place: path.join('.'), reason: resolved.reason });
    return whole;
  });
}
