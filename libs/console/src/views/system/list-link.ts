/** Where a list of the API is in the console. */
export interface ListLink {
  readonly to: '/sessions' | '/deliveries' | '/webhooks';
  readonly search: Readonly<Record<string, string>>;
}

/** `/v1/sessions?status=waiting` is `/sessions?status=waiting` here. Null: the console has no such list. */
export function listLink(call: string): ListLink | null {
  const [path, query = ''] = call.split('?', 2);
  const to = (['/sessions', '/deliveries', '/webhooks'] as const).find((each) => `/v1${each}` === path);
  return to === undefined ? null : { to, search: Object.fromEntries(new URLSearchParams(query)) };
}
