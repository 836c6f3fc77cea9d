/** What the URL says after `?`. Values are plain texts, so that an address can be read, typed and pasted into a ticket. */
export type SearchParams = Readonly<Record<string, string>>;

export function parseSearch(text: string): SearchParams {
  return Object.fromEntries(new URLSearchParams(text));
}

/** Empty values are left out. */
export function stringifySearch(search: object): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search))
    if (value !== undefined && value !== null && value !== '') params.set(name, String(value));
  const text = params.toString();
  return text === '' ? '' : `?${text}`;
}
