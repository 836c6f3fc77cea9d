import type { EventLog, SessionFilter } from '@angelia/event-log';

interface GivenFilter extends SessionFilter {
  readonly q?: string | undefined;
  readonly delivery_id?: string | undefined;
}

/** The filter of the log for the filter of a request: `q` becomes what it means. */
export async function sessionFilter(
  log: Pick<EventLog, 'lists'>,
  { q, delivery_id: deliveryId, ...rest }: GivenFilter,
): Promise<SessionFilter> {
  const meant = q === undefined ? {} : await log.lists.meaningOf(q);
  return { ...rest, ...(deliveryId === undefined ? {} : { deliveryId }), ...meant };
}
