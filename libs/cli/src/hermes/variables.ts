import { freeName, isSection } from './untyped-values.ts';

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const REFERENCE = /(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Reads `.env` of Hermes: NAME=value lines, with `export` and quotes as in a shell. */
export function parseDotenv(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const [, name, rest = ''] = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const quoted = /^\s*(['"])(.*?)\1\s*(?:#.*)?$/.exec(rest);
    const value = quoted?.[2] ?? rest.replace(/(^|\s)#.*$/, '').trim();
    if (value !== '') found[name] = value;
  }
  return found;
}

/**
 * The environment that the new config refers to. The config holds no secrets: each secret becomes a variable, the config has
 * `${NAME}`, and the value goes into another file.
 */
export class Variables {
  readonly #hermes: Readonly<Record<string, string>>;
  readonly #made = new Map<string, string>();

  constructor(hermesEnvironment: Readonly<Record<string, string>>) {
    this.#hermes = hermesEnvironment;
  }

  /** The value in Hermes' environment. */
  value(name: string): string | undefined {
    return this.#hermes[name] || undefined;
  }

  /** A reference to the first of these variables that Hermes has. */
  reference(...names: string[]): string | undefined {
    const name = names.find((one) => this.value(one) !== undefined);
    return name === undefined ? undefined : `\${${name}}`;
  }

  /** Turns a literal secret of Hermes' config into a reference. A reference stays as it is. */
  secret(name: string, text: string): string {
    if (new RegExp(REFERENCE).test(text)) return text;
    const value = text.replaceAll('$${', '${');
    const known = [...this.#made].find(([, made]) => made === value)?.[0];
    if (known !== undefined) return `\${${known}}`;
    const wanted = name
      .toUpperCase()
      .replace(/[^A-Z0-9]+/g, '_')
      .replace(/^(?=[0-9])/, '_');
    const taken = (one: string) => (this.#made.get(one) ?? this.value(one) ?? value) !== value;
    const free = freeName(wanted, (one) => taken(one.replaceAll('-', '_'))).replaceAll('-', '_');
    this.#made.set(free, value);
    return `\${${free}}`;
  }

  /** All variables that a config refers to, sorted by name. The value is null if Hermes does not have it. */
  usedIn(config: unknown): { readonly name: string; readonly value: string | null }[] {
    const names = new Set<string>();
    collect(config, names);
    return [...names]
      .sort()
      .map((name) => ({ name, value: this.#made.get(name) ?? this.value(name) ?? null }));
  }
}

function collect(value: unknown, names: Set<string>): void {
  if (typeof value === 'string') {
    for (const match of value.matchAll(REFERENCE)) names.add(match[1] ?? '');
  } else if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) collect(item, names);
  }
}

/**
 * Converts texts to the syntax of our config. Hermes fills `${NAME}` from the environment and leaves unknown names unchanged.
 * In our config an unknown name is an error, and `$${` stands for a literal `${`.
 */
export function withReferences(value: unknown, isKnown: (name: string) => boolean): unknown {
  if (typeof value === 'string') {
    return value.replace(/\$\{([^}]*)(\}?)/g, (whole, name: string, end: string) =>
      end !== '' && NAME.test(name) && isKnown(name) ? whole : `$${whole}`,
    );
  }
  if (Array.isArray(value)) return value.map((item) => withReferences(item, isKnown));
  if (!isSection(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withReferences(item, isKnown)]));
}

/** A file for `docker compose --env-file`, systemd, or `set -a; . ./file`. */
export function environmentText(
  variables: readonly { readonly name: string; readonly value: string | null }[],
): string {
  return variables
    .map(({ name, value }) =>
      value === null
        ? `# Hermes has no value for this: fill it in\n${name}=\n`
        : `${name}=${quoted(value)}\n`,
    )
    .join('');
}

function quoted(value: string): string {
  return /^[A-Za-z0-9_.,:/@%+=-]*$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
