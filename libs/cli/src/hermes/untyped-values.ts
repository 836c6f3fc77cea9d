/** A mapping from a file of Hermes. Any value in it may have the wrong type. */
export type Section = Readonly<Record<string, unknown>>;

export function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Empty unless it is a mapping. */
export function sectionOf(value: unknown): Section {
  return isSection(value) ? value : {};
}

/** A non-empty text. Numbers (ids in YAML) become text. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** A whole number above 0, also in quotes. */
export function countOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number > 0 ? number : undefined;
}

/** A list of texts. As in Hermes, a single text is a list of one. */
export function textsOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value])
    .flatMap((item) => textOf(item) ?? [])
    .map((item) => item.trim());
}

/** Drops undefined values, so that our defaults apply where Hermes has no setting. */
export function present(section: Section): Record<string, unknown> {
  return Object.fromEntries(Object.entries(section).filter(([, value]) => value !== undefined));
}

/** A text as a valid name in our config. */
export function asName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 63)
    .replace(/-+$/, '');
  return name === '' ? 'unnamed' : name;
}

/** `name`, or the first of `name-2`, `name-3` ... that is not taken. */
export function freeName(name: string, taken: (name: string) => boolean): string {
  let free = name;
  for (let number = 2; taken(free); number += 1) free = `${name.slice(0, 58)}-${number}`;
  return free;
}
