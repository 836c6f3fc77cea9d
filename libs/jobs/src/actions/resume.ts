import { type KeyEventData, sessionId } from '@angelia/contracts';
import { continuationKey, type KeyedSessions, type Loaded } from '@angelia/sessions';
import { sessionFilterOf } from '../filter.ts';
import { type Action, DONE, keyOf, skipped } from './action.ts';
import { sessionsBy } from './select-sessions.ts';

/** The model sees its transcript above this text, which tells it to finish and not to ask. */
const RESUME_INPUT =
  'Go on with this work: finish what is unfinished and give the answer. Do not start over what is done already.';

/** Opens a continuation of an ended session, or joins the one that is open. */
export function resumeSession(
  keyed: KeyedSessions,
  old: Loaded,
  given: Parameters<KeyedSessions['continueSession']>[2],
): ReturnType<KeyedSessions['continueSession']> {
  // The same id while the continuation is open, so two calls resume once.
  const turn = { source: 'resume', input: RESUME_INPUT, deliveryId: `resume-${old.id}` } as const;
  return keyed.continueSession(old, turn, given);
}

export const resume: Action = {
  ...sessionsBy(({ filter, before }) => ({
    outcome: 'failed',
    ...defined(sessionFilterOf(filter)),
    status: 'ended',
    endedBefore: before,
  })),
  /**
   * A session that was continued already is left alone, whoever did it: its continuation is what can be resumed, and is in
   * the list by itself if it failed too. Otherwise a second job over the same time would do all the work twice.
   */
  perform: async (item, work) => {
    const { sessions, keyed, log, actor } = work;
    const key = keyOf(item, work);
    // Of this job, before its leader died.
    if ((await log.streams.findByKey(key.key)) !== null) return DONE;
    const old = await sessions.load(sessionId(item));
    if (old.state.created === null) return skipped('unknown_session');
    if (old.state.ended === null) return skipped('not_ended');
    if (old.state.created.deliverOnly) return skipped('deliver_only');
    const head = await log.streams.readHead(continuationKey(old));
    const current = (head?.data as KeyEventData<'key.session-opened'> | undefined)?.session_id;
    if (current !== undefined && current !== item) return skipped('continued_before');
    await resumeSession(keyed, old, { actor, key, causation: work.jobId });
    return DONE;
  },
  fills: 'runs',
};

/** Without what is undefined, so that defaults stay. */
function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
