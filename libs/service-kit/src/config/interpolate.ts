import type { ConfigProblem } from '@angelia/contracts';

/** `$${NAME}` stands for a literal `${NAME}`. */
const REFERENCE = /\$?\$\{([^}]*)\}?/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Fills `${NAME}` in every string value, from the environment. What cannot be filled is a problem with its place. */
export function interpolate(
  value: unknown,
  env: NodeJS.ProcessEnv,
  problems: ConfigProblem[],
  path: readonly string[] = [],
): unknown {
  if (typeof value === 'string') return fill(value, env, problems, path);
  if (Array.isArray(value)) {
    return value.map((item, index) => interpolate(item, env, problems, [...path, String(index)]));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, interpolate(item, env, problems, [...path, key])]),
  );
}

function fill(
  text: string,
  env: NodeJS.ProcessEnv,
  problems: ConfigProblem[],
  path: readonly string[],
): string {
  return text.replace(REFERENCE, (whole, name: string) => {
    if (whole.startsWith('$$')) return whole.slice(1);
    const place = path.join('.');
    if (!NAME.test(name) || !whole.endsWith('}')) {
      problems.push({
        place,
        reason: `\`${whole}\` is no reference to a variable: write \${NAME}, or $\${ for a literal \${`,
      });
      return whole;
    }
    const found = env[name];
    if (found === undefined || found === '') {
      problems.push({ place, reason: `the environment variable ${name} is not set` });
      return whole;
    }
    return found;
  });
}
