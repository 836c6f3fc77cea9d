import { parseEnv } from 'node:util';
import { CliError, EXIT } from '../exit.ts';

/** The variables of `.env` that have a value. */
export function valuesIn(text: string): Readonly<Record<string, string>> {
  const entries = Object.entries(parseEnv(text)).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(entries) as Record<string, string>;
}

/** `text` with these variables behind it. What it has stays as it is: somebody else's program may read it too. */
export function withVariables(text: string, values: Readonly<Record<string, string | null>>): string {
  const there = valuesIn(text);
  const added = Object.entries(values).filter(([name]) => there[name] === undefined);
  const lines = added.map(([name, value]) =>
    value === null ? `# fill it in\n${name}=\n` : `${name}=${quoted(value)}\n`,
  );
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  return before + lines.join('');
}

/** Node's parser knows no escapes: a value is quoted by a sign that it does not contain. */
function quoted(value: string): string {
  if (/^[\w.:/@+=,-]+$/.test(value)) return value;
  const sign = ["'", '"', '`'].find((each) => !value.includes(each));
  if (sign === undefined || /[\r\n]/.test(value)) {
    throw new CliError(
      EXIT.usage,
      'a secret has a line break, or all of \' " and `, and .env cannot hold that: set it in the environment of the services',
    );
  }
  return `${sign}${value}${sign}`;
}
