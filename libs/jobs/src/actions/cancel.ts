import { cancelSubject, sessionId } from '@angelia/contracts';
import { decide } from '@angelia/session';
import type { Executed } from '@angelia/sessions';
import { sessionFilterOf } from '../filter.ts';
import { type Action, DONE, skipped, type Tools } from './action.ts';
import { sessionsBy } from './select-sessions.ts';

/** Ends one session as `cancelled`. `by`: who asked, or the job. */
export async function cancelSession(
  { sessions, bus }: Pick<Tools, 'sessions'> & { readonly bus: Pick<Tools['bus'], 'ping'> },
  id: string,
  given: { readonly by: string; readonly actor: string; readonly causation?: string },
): Promise<Executed> {
  const { by, ...meta } = given;
  const executed = await sessions.execute(
    sessionId(id),
    ({ state }) => decide(state, { type: 'cancel', by }),
    meta,
  );
  // The event is what counts. The ping makes the replica that runs the session act at once.
  if (executed.status === 'appended') bus.ping(cancelSubject(id));
  return executed;
}

export const cancel: Action = {
  ...sessionsBy(({ filter, before }) => {
    const { until = before, ...rest } = sessionFilterOf(filter);
    return { ...rest, isOpen: true, until: Math.min(until, before) };
  }),
  perform: async (item, work) => {
    const by = `job ${work.jobId}`;
    const executed = await cancelSession(work, item, { by, actor: work.actor, causation: work.jobId });
    switch (executed.status) {
      case 'appended':
        return DONE;
      case 'nothing':
        // It is cancelled already: by this job before its leader died, or by somebody else.
        return executed.loaded.state.ended?.detail?.endsWith(by) ? DONE : skipped('cancelled_before');
      case 'refused':
        return skipped(executed.code);
      default:
        throw new Error(`cancelling ${item} returned ${executed.status}`);
    }
  },
  fills: null,
};
