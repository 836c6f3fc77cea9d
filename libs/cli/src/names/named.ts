import type { Api } from '../api/client.ts';
import type { Page, Process, Route, Session } from '../api/types.ts';

/** What a word on the command line can name. Completion offers it, and of all but routes a unique prefix is enough. */
export type Named = 'session' | 'delivery' | 'process' | 'job' | 'route';

/** The first names of this kind that begin so, newest first. */
export async function namesWith(api: Api, kind: Named, prefix: string, limit: number): Promise<string[]> {
  return finders[kind](api, prefix, limit);
}

type Find = (api: Api, prefix: string, limit: number) => Promise<string[]>;

/** The API takes the beginning of an id, but not nothing. */
const idOf = (prefix: string): string | null => (prefix === '' ? null : prefix);

const sessions: Find = async (api, prefix, limit) => {
  const { items } = await api.get<Page<Session>>('/v1/sessions', { id: idOf(prefix), limit });
  return items.map(({ id }) => id);
};

const finders: Readonly<Record<Named, Find>> = {
  session: sessions,
  // `<session>.<output>`: both parts may be the beginning.
  delivery: async (api, prefix, limit) => {
    if (prefix === '') {
      const { items } = await api.get<Page<{ id: string }>>('/v1/deliveries', { limit });
      return items.map(({ id }) => id);
    }
    const [session = '', output] = prefix.split('.');
    const found = await sessions(api, session, limit);
    const pages = await Promise.all(
      found.map((id) => api.get<Page<{ id: string }>>('/v1/deliveries', { session: id })),
    );
    const ids = pages.flatMap(({ items }) => items.map(({ id }) => id));
    return output === undefined ? ids : ids.filter((id) => (id.split('.')[1] ?? '').startsWith(output));
  },
  process: async (api, prefix, limit) => {
    const { items } = await api.get<Page<Process>>('/v1/processes', { id: idOf(prefix), limit });
    return items.map(({ id }) => id);
  },
  job: async (api, prefix, limit) => {
    const { items } = await api.get<Page<{ job_id: string }>>('/v1/jobs', { id: idOf(prefix), limit });
    return items.map(({ job_id: id }) => id);
  },
  route: async (api, prefix) => {
    const { items } = await api.get<Page<Route>>('/v1/routes', { limit: 200 });
    return items.flatMap(({ name }) => (name.startsWith(prefix) ? [name] : []));
  },
};
