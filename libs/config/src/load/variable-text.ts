/** `${NAME}`, as a place in a text that is kept. */
export interface Reference {
  readonly name: string;
}

/**
 * A text of the config file that names environment variables and is kept with their names: an address is written to
 * every session's events and shown by the API, and the value may be a credential. An object of a class, so that no text
 * of a payload and no route made by API can pass for one: JSON makes none.
 */
export class VariableText {
  readonly parts: readonly (string | Reference)[];
  readonly #values: ReadonlyMap<string, string>;

  constructor(parts: readonly (string | Reference)[], values: ReadonlyMap<string, string>) {
    this.parts = parts;
    this.#values = values;
  }

  /** With the values that the variables had when the config was read: for checks, and never to be written down. */
  resolved(): string {
    return this.parts.map((part) => (typeof part === 'string' ? part : this.value(part))).join('');
  }

  /** What must not be seen. */
  values(): string[] {
    return this.parts.flatMap((part) => (typeof part === 'string' ? [] : [this.value(part)]));
  }

  value({ name }: Reference): string {
    return this.#values.get(name) ?? '';
  }

  /** What everybody may see. */
  toString(): string {
    return this.parts.map((part) => (typeof part === 'string' ? part : written(part))).join('');
  }

  toJSON(): string {
    return this.toString();
  }
}

export function written({ name }: Reference): string {
  return `\${${name}}`;
}
