import { hintSchema } from '@angelia/contracts';
import type { DeadLetter, EventLog } from '@angelia/event-log';
import { newEventId } from '@angelia/sessions';
import { type Selection, timesOf } from '../filter.ts';
import { type Action, DONE, skipped, type Tools } from './action.ts';

/** The projection has no hints: its leader looks for replays that are requested. */
const PROJECTION = 'projection';

/** Has one dead letter processed again. False: it holds no hint of ours, so there is nothing to replay. */
export async function replayDeadLetter(
  log: EventLog,
  bus: Pick<Tools['bus'], 'publishHints'>,
  letter: DeadLetter,
): Promise<boolean> {
  if (letter.handler === PROJECTION) {
    await log.deadLetters.requestReplay(letter.id);
    return true;
  }
  const hint = hintSchema.safeParse(letter.payload);
  if (!hint.success) return false;
  // A new id: the bus would treat the old one as a duplicate.
  await bus.publishHints([{ ...hint.data, messageId: newEventId() }]);
  await log.deadLetters.forget(letter.id);
  return true;
}

function filterOf({ filter, before }: Selection) {
  const { since, until = before } = timesOf(filter);
  const { handler, session } = filter;
  return { handler, streamId: session, since, until: Math.min(until, before) };
}

export const replayDeadLetters: Action = {
  // Newest first. One that fails again is younger than the request.
  select: async (log, selection, cursor, limit) => {
    const letters = await log.deadLetters.list({
      ...filterOf(selection),
      limit,
      ...(cursor === null ? {} : { before: Number(cursor) }),
    });
    const ids = letters.map(({ id }) => String(id));
    return { ids, next: letters.length < limit ? null : (ids.at(-1) ?? null) };
  },
  count: (log, selection) => log.deadLetters.count(filterOf(selection)),
  perform: async (item, { log, bus }) => {
    const [letter] = await log.deadLetters.list({ limit: 1, id: Number(item) });
    // Replayed already: by this job before its leader died, or by somebody else who wanted the same.
    if (letter === undefined) return DONE;
    return (await replayDeadLetter(log, bus, letter)) ? DONE : skipped('no_hint');
  },
  fills: null,
};
