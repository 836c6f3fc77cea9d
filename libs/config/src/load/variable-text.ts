/** A variable that a text refers to. */
export interface Variable {
  readonly name: string;
}

/**
 * A text of the config file that refers to environment variables by name. Addresses keep such texts, because events and
 * the API show them and a value may be a credential. It is a class, so that no text of a payload and no route made by API
 * can look like one: JSON has no instances.
 */
export class VariableText {
  readonly parts: readonly (string | Variable)[];
  readonly #values: ReadonlyMap<string, string>;

  constructor(parts: readonly (string | Variable)[], values: ReadonlyMap<string, string>) {
    this.parts = parts;
    this.#values = values;
  }

  /** The text with the values that the variables had when the config was read. For checks only: never store or show it. */
  resolved(): string {
    return this.parts.map((part) => (typeof part === 'string' ? part : this.value(part))).join('');
  }

  /** The values, which must not be shown. */
  values(): string[] {
    return this.parts.flatMap((part) => (typeof part === 'string' ? [] : [this.value(part)]));
  }

  value({ name }: Variable): string {
    return this.#values.get(name) ?? '';
  }

  /** The text with `${NAME}` in it, which everybody may see. */
  toString(): string {
    return this.parts.map((part) => (typeof part === 'string' ? part : variableReference(part))).join('');
  }

  toJSON(): string {
    return this.toString();
  }
}

/** `${NAME}` */
export function variableReference({ name }: Variable): string {
  return `\${${name}}`;
}
