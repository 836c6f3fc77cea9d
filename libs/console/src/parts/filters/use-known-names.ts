import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';

/** More routes than this are typed, not chosen. */
const MOST_ROUTES = 200;

/** The names of routes, for a choice. */
export function useRouteNames(): readonly string[] {
  const { data } = useQuery({
    queryKey: ['routes', 'names'],
    queryFn: () => ask(api.GET('/v1/routes', { params: { query: { limit: MOST_ROUTES } } })),
    select: ({ items }) => items.map(({ name }) => name),
  });
  return data ?? [];
}

/** The names of targets of the config in force, for a choice. */
export function useTargetNames(): readonly string[] {
  const { data } = useQuery({
    queryKey: ['system'],
    queryFn: () => ask(api.GET('/v1/system')),
    select: ({ config }) => {
      const { targets } = config.values;
      return typeof targets === 'object' && targets !== null ? Object.keys(targets).toSorted() : [];
    },
  });
  return data ?? [];
}
