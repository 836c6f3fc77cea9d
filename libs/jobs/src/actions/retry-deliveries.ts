import { sessionId } from '@angelia/contracts';
import { decide } from '@angelia/session';
import type { Executed, ExecuteOptions, Sessions } from '@angelia/sessions';
import { type Selection, timesOf } from '../filter.ts';
import { type Action, DONE, keyOf, skipped } from './action.ts';

/** Sends one dead delivery again. */
export function retryDelivery(
  sessions: Sessions,
  { session, output }: { readonly session: string; readonly output: number },
  { by, ...options }: { readonly by: string } & Pick<ExecuteOptions, 'actor' | 'key' | 'causation'>,
): Promise<Executed> {
  return sessions.execute(
    sessionId(session),
    ({ state }) => decide(state, { type: 'retry-delivery', output, by }),
    options,
  );
}

function filterOf({ filter, before }: Selection) {
  const { route, target, session } = filter;
  const { since, until = before } = timesOf(filter);
  return { status: 'dead', route, target, sessionId: session, since, until: Math.min(until, before) };
}

export const retryDeliveries: Action = {
  // By the time of their last change. What is retried changes, and is then after the request.
  select: async (log, selection, cursor, limit) => {
    const page = await log.lists.deliveries({
      ...filterOf(selection),
      limit,
      ...(cursor === null ? {} : { cursor }),
    });
    return { ids: page.items.map(({ sessionId: id, output }) => `${id}.${output}`), next: page.nextCursor };
  },
  count: (log, selection) => log.lists.countDeliveries(filterOf(selection)),
  perform: async (item, work) => {
    const { sessions, log, actor, jobId } = work;
    const key = keyOf(item, work);
    // Of this job, before its leader died.
    if ((await log.streams.findByKey(key.key)) !== null) return DONE;
    const [session = '', output] = item.split('.');
    const executed = await retryDelivery(
      sessions,
      { session, output: Number(output) },
      { by: `job ${jobId}`, actor, key, causation: jobId },
    );
    switch (executed.status) {
      case 'appended':
      case 'duplicate':
        return DONE;
      case 'nothing':
        return skipped('not_dead');
      case 'refused':
        return skipped(executed.code);
      default:
        throw new Error(`retrying ${item} returned ${executed.status}`);
    }
  },
  fills: 'deliveries',
};
