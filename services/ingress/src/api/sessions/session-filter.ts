import type { EventLog, SessionFilter } from '@angelia/event-log';

interface GivenFilter extends SessionFilter {
  readonly q?: string | undefined;
  readonly delivery_id?: string | undefined;
  readonly waiting_for?: string | undefined;
  readonly ended_since?: number | undefined;
}

/** The filter of the log for the filter of a request: `q` becomes what it means. */
export async function sessionFilter(
  log: Pick<EventLog, 'lists'>,
  { q, delivery_id: deliveryId, waiting_for: waitingFor, ended_since: endedSince, ...rest }: GivenFilter,
): Promise<SessionFilter> {
  const meant = q === undefined ? {} : await log.lists.meaningOf(q);
  return { ...rest, waitingFor, endedSince, ...(deliveryId === undefined ? {} : { deliveryId }), ...meant };
}
