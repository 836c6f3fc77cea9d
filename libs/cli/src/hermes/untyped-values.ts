/** What a file of somebody else's is taken as: nothing in it is known to be what it should be. */
export type Section = Readonly<Record<string, unknown>>;

export function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Empty when it is none. */
export function sectionOf(value: unknown): Section {
  return isSection(value) ? value : {};
}

/** A text that is not empty; numbers (ids in YAML) as such. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** A whole number above 0, also when it stands in quotes. */
export function countOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number > 0 ? number : undefined;
}

/** What Hermes takes as a list; a single text stands for itself. */
export function textsOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value])
    .flatMap((item) => textOf(item) ?? [])
    .map((item) => item.trim());
}

/** Without what has no value, so that our defaults stand where Hermes said nothing. */
export function present(section: Section): Record<string, unknown> {
  return Object.fromEntries(Object.entries(section).filter(([, value]) => value !== undefined));
}

/** As names in our config are written. */
export function asName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 63)
    .replace(/-+$/, '');
  return name === '' ? 'unnamed' : name;
}

/** `name`, or `name-2` and so on: the first that is not taken. */
export function freeName(name: string, taken: (name: string) => boolean): string {
  let free = name;
  for (let number = 2; taken(free); number += 1) free = `${name.slice(0, 58)}-${number}`;
  return free;
}
