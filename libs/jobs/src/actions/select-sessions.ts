import type { EventLog, SessionFilter } from '@angelia/event-log';
import type { Selection } from '../filter.ts';
import type { Action } from './action.ts';

/** Sessions in the order of their ids, oldest first. */
export function sessionsBy(
  filterOf: (selection: Selection) => SessionFilter,
): Pick<Action, 'select' | 'count'> {
  return {
    select: async (log: EventLog, selection, cursor, limit) => {
      for (let from = cursor; ; ) {
        const page = await log.lists.sessions({
          ...filterOf(selection),
          sort: 'oldest',
          limit,
          ...(from === null ? {} : { cursor: from }),
        });
        // A page may be empty although there is more to look at.
        if (page.items.length > 0 || page.nextCursor === null) {
          return { ids: page.items.map(({ sessionId }) => sessionId), next: page.nextCursor };
        }
        from = page.nextCursor;
      }
    },
    count: (log, selection) => log.lists.countSessions(filterOf(selection)),
  };
}
