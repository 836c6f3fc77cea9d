import type { EventLog, SessionFilter } from '@angelia/event-log';

/** The filter of the log for the filter of a request: `q` becomes what it means. */
export async function sessionFilter(
  log: Pick<EventLog, 'lists'>,
  { q, ...rest }: SessionFilter & { readonly q?: string | undefined },
): Promise<SessionFilter> {
  return q === undefined ? rest : { ...rest, ...(await log.lists.meaningOf(q)) };
}
