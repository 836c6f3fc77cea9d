import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { getSession } from '../../api/calls/session-calls.ts';
import { api, ask, type Schema } from '../../api/client.ts';
import { everyPage } from '../../api/every-page.ts';
import { askAgain } from '../../api/feed/ask-again.ts';
import { liveFeed } from '../../api/feed/live-feed.ts';
import { useFeed } from '../../api/feed/use-feed.ts';
import { useThrottled } from '../../api/feed/use-throttled.ts';
import { type SessionEvent, withLiveEvents } from './session-event.ts';

/** While events keep coming, what is folded on the server is asked for at most this often. */
const REFRESH_MS = 250;

/** The largest page of the API. */
const MOST_PER_PAGE = 200;

export const sessionKey = (id: string) => ['session', id] as const;
export const eventsKey = (id: string) => ['session', id, 'events'] as const;
export const transcriptKey = (id: string) => ['session', id, 'transcript'] as const;
export const deliveriesKey = (id: string) => ['session', id, 'deliveries'] as const;
export const processesKey = (id: string) => ['session', id, 'processes'] as const;

export function useSession(id: string) {
  return useQuery({ queryKey: sessionKey(id), queryFn: ({ signal }) => getSession(id, signal) });
}

export function useEvents(id: string) {
  return useQuery({
    queryKey: eventsKey(id),
    queryFn: ({ signal }) =>
      withArrivals(id, async () => {
        const answer = await ask(api.GET('/v1/sessions/{id}/events', { params: { path: { id } }, signal }));
        return answer.items;
      }),
  });
}

/** The answer, merged with the live events that arrived while it was on its way, because it may be older than they are. */
export async function withArrivals(
  id: string,
  answer: () => Promise<readonly SessionEvent[]>,
  feed: Pick<typeof liveFeed, 'subscribe'> = liveFeed,
): Promise<readonly SessionEvent[]> {
  const arrived: SessionEvent[] = [];
  const stop = feed.subscribe(({ events }) => {
    for (const event of events) if (event.session_id === id) arrived.push(event);
  });
  try {
    const items = await answer();
    return withLiveEvents(items, arrived) ?? items;
  } finally {
    stop();
  }
}

export function useTranscript(id: string) {
  return useQuery({
    queryKey: transcriptKey(id),
    queryFn: async ({ signal }) =>
      (await ask(api.GET('/v1/sessions/{id}/transcript', { params: { path: { id } }, signal }))).messages,
  });
}

export function useDeliveries(id: string) {
  const queries = useQueryClient();
  return useQuery({
    queryKey: deliveriesKey(id),
    // All of them: an output without its delivery would be shown as not delivered.
    queryFn: ({ signal }) =>
      everyPage((cursor) => {
        const query = { session: id, limit: MOST_PER_PAGE, ...cursor };
        return ask(api.GET('/v1/deliveries', { params: { query }, signal }));
      }),
    // The list is a moment behind the log, and no event tells when it has caught up.
    refetchInterval: ({ state }) =>
      isBehind(state.data ?? [], queries.getQueryData(eventsKey(id)) ?? []) ? REFRESH_MS : false,
  });
}

const SETTLED: Readonly<Record<string, Schema['Delivery']['status']>> = {
  'delivery.succeeded': 'delivered',
  'delivery.dead': 'dead',
};

/** Whether the events know of an end of a delivery that the list does not know yet. */
export function isBehind(
  deliveries: readonly Pick<Schema['Delivery'], 'output' | 'status'>[],
  events: readonly Pick<SessionEvent, 'type' | 'data'>[],
): boolean {
  const known = new Map(deliveries.map(({ output, status }) => [output, status]));
  const last = new Map<unknown, string>();
  for (const { type, data } of events)
    if (type.startsWith('delivery.')) last.set((data as { output?: unknown }).output, type);
  return [...last].some(([output, type]) => {
    const status = SETTLED[type];
    return status !== undefined && known.get(output as number) !== status;
  });
}

/** Keeps what is shown of a session up with the log: events come as they are, the rest is asked for again. */
export function useLiveSession(id: string): void {
  const queries = useQueryClient();
  const refresh = useThrottled(() => refreshDerived(queries, id), REFRESH_MS);
  useFeed(({ events, gap }) => {
    const own = events.filter(({ session_id }) => session_id === id);
    if (gap) {
      askAgain(queries, { queryKey: sessionKey(id) });
      return;
    }
    if (own.length === 0) return;
    const known = queries.getQueryData<readonly SessionEvent[]>(eventsKey(id));
    const more = known === undefined ? undefined : withLiveEvents(known, own);
    if (more === null) void queries.invalidateQueries({ queryKey: eventsKey(id) });
    else if (more !== undefined) queries.setQueryData(eventsKey(id), more);
    refresh();
  });
}

/** Everything of the session but its events. */
function refreshDerived(queries: QueryClient, id: string): void {
  askAgain(queries, {
    queryKey: sessionKey(id),
    predicate: ({ queryKey }) => queryKey[2] !== 'events',
  });
}
