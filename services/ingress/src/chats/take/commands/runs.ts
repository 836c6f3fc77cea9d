import { cancelSubject, type EventData, sessionId } from '@angelia/contracts';
import { resumeSession } from '@angelia/jobs';
import { decide, type RequestTurn, sessionStatus } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import { answerBeside, commitAnswer } from '../answer.ts';
import type { TakeContext, Taken, TakingMessage } from '../take-context.ts';
import { sessionFor } from './find-session.ts';

/** `/stop [id]`: the answer is in the same append as the end, so both are there or none. */
export async function stop(context: TakeContext, taking: TakingMessage, rest: string): Promise<Taken> {
  const found = await sessionFor(context, taking, rest);
  if ('none' in found) return say(context, taking, '/stop', found.none);
  const { session } = found;
  const { options } = taking;
  const executed = await context.sessions.execute(
    session.id,
    ({ state }) => decide(state, { type: 'cancel', by: options.actor }),
    { ...options, loaded: session, beside: [about(context, taking, '/stop', stopped(session), session)] },
  );
  if (executed.status === 'appended') {
    // The event in the log is what counts; the ping makes the runner stop at once.
    context.bus.ping(cancelSubject(session.id));
    return { outcome: 'command', sessionId: session.id };
  }
  if (executed.status === 'duplicate') return { outcome: 'known' };
  return say(context, taking, '/stop', `${titled(session)} has ended already.`, session);
}

/** `/resume [id]`: opens a continuation, or joins the one that is open. */
export async function resume(context: TakeContext, taking: TakingMessage, rest: string): Promise<Taken> {
  const found = await sessionFor(context, taking, rest);
  if ('none' in found) return say(context, taking, '/resume', found.none);
  const { session } = found;
  if (session.state.ended === null) {
    return say(
      context,
      taking,
      '/resume',
      `${titled(session)} has not ended: it is ${sessionStatus(session.state)}.`,
      session,
    );
  }
  const { status, sessionId } = await resumeSession(context.keyed, session, {
    ...taking.options,
    beside: [about(context, taking, '/resume', `I go on with ${titled(session)}.`, session)],
  });
  return status === 'duplicate' ? { outcome: 'known' } : { outcome: 'command', sessionId };
}

/** `/retry`: repeats the last input of a person or a webhook. */
export async function retry(context: TakeContext, taking: TakingMessage, rest: string): Promise<Taken> {
  const found = await sessionFor(context, taking, rest);
  if ('none' in found) return say(context, taking, '/retry', found.none);
  const { session } = found;
  if (session.state.ended === null && session.state.turns.length > 0) {
    return say(context, taking, '/retry', `${titled(session)} is still at work. /stop ends it.`, session);
  }
  const asked = await lastAsked(context, session);
  if (asked === null) return say(context, taking, '/retry', 'There is nothing to ask again.', session);
  const { options } = taking;
  const beside = [about(context, taking, '/retry', `I try ${titled(session)} again.`, session)];
  const turn = { source: 'message', ...asked } as const;
  const again = ({ state }: Pick<Loaded, 'state'>) =>
    decide(state, { type: 'request-turn', ...turn, deliveryId: null });
  const executed = await context.sessions.execute(session.id, again, { ...options, loaded: session, beside });
  if (executed.status === 'appended') return { outcome: 'command', sessionId: session.id };
  if (executed.status === 'duplicate') return { outcome: 'known' };
  if (executed.status !== 'refused') throw new Error(`/retry was answered with ${executed.status}`);
  const { status, sessionId } = await context.keyed.continueSession(
    executed.loaded,
    { ...turn, deliveryId: options.key.key },
    { ...options, beside },
    (state) => again({ state }),
  );
  return status === 'duplicate' ? { outcome: 'known' } : { outcome: 'command', sessionId };
}

/** Each /resume without a message is one more continuation. Bounds what one command reads. */
const MOST_CONTINUED = 20;

/**
 * Not a notice about a process, and not a request to resume: their subject is in the input before them. After /resume, that
 * input is in the session that it continues.
 */
async function lastAsked(
  { sessions }: Pick<TakeContext, 'sessions'>,
  session: Loaded,
): Promise<Pick<RequestTurn, 'input' | 'images' | 'files'> | null> {
  let read = session;
  for (let continued = 0; continued <= MOST_CONTINUED; continued += 1) {
    const asked = read.events.findLast(
      ({ type, data }) =>
        type === 'turn.requested' &&
        ['webhook', 'message'].includes((data as EventData<'turn.requested'>).source),
    );
    if (asked !== undefined) {
      const { input, images = [], files = [] } = asked.data as EventData<'turn.requested'>;
      return { input, images, files };
    }
    const before = read.state.created?.continues ?? null;
    if (before === null) return null;
    read = await sessions.load(sessionId(before));
  }
  return null;
}

const titled = ({ state }: Loaded) => `“${state.created?.title ?? ''}”`;

/** Says how many messages are dropped: their authors were told that they would be read. */
function stopped(session: Loaded): string {
  const { turns, run } = session.state;
  const unread = turns.length - (run === null ? 0 : 1);
  const dropped =
    unread === 0
      ? ''
      : ` ${unread === 1 ? 'One message that waited is' : `${unread} messages that waited are`} not read.`;
  return `I have stopped ${titled(session)}.${dropped} /resume continues it.`;
}

function about(context: TakeContext, taking: TakingMessage, title: string, text: string, session: Loaded) {
  return answerBeside(context, taking, { text, title, event: 'command', about: session.id });
}

function say(
  context: TakeContext,
  taking: TakingMessage,
  title: string,
  text: string,
  session?: Loaded,
): Promise<Taken> {
  return commitAnswer(context, taking, { text, title, event: 'command', about: session?.id ?? null });
}
