import type { SessionFact, SessionId } from '@angelia/contracts';
import { type StreamAppend, toStorable } from '@angelia/event-log';
import { decide, initialState } from '@angelia/session';
import { newSessionId } from '@angelia/sessions';
import type { TakeContext, Taken, TakingMessage } from './take-context.ts';

/** An answer that the gateway itself gives in a chat, without an agent. */
export interface Answer {
  readonly text: string;
  readonly title: string;
  /** `command`, or why it is said. */
  readonly event: 'command' | 'stranger' | 'busy' | 'pairing' | 'file';
  /** The session that it is about: a reply to it goes there. */
  readonly about?: string | null;
}

/**
 * An answer is a `deliver_only` session, so it is in the log before it is sent (invariant written-before-sent), and delivery
 * sends it, in order, with its retries. It is settled and pruned as any other session.
 */
export function answerFacts(
  { chat, update, options }: TakingMessage,
  { text, title, event, about = null }: Answer,
): readonly SessionFact[] {
  const decision = decide(initialState(), {
    type: 'create-session',
    route: chat.route,
    event,
    deliveryId: options.key.key,
    title: toStorable(title),
    agent: chat.agent,
    deliver: { target: chat.platform.name, to: { ...update.answerTo }, untrusted_address: false },
    deliverOnly: true,
    about,
    source: 'message',
    input: toStorable(text),
  });
  if (!decision.ok) throw new Error(`an answer in a chat was refused (${decision.code}): ${decision.reason}`);
  return decision.events;
}

/** For the append of the change that the answer is about. */
export function answerBeside(
  { sessions }: Pick<TakeContext, 'sessions'>,
  taking: TakingMessage,
  answer: Answer,
): StreamAppend {
  const { actor, traceparent } = taking.options;
  return sessions.newSession(newSessionId(), answerFacts(taking, answer), { actor, traceparent });
}

/** For a command that changes nothing else. */
export async function commitAnswer(
  { sessions }: Pick<TakeContext, 'sessions'>,
  taking: TakingMessage,
  answer: Answer,
  beside: readonly StreamAppend[] = [],
  id: SessionId = newSessionId(),
): Promise<Taken> {
  const events = answerFacts(taking, answer);
  const executed = await sessions.execute(id, () => ({ ok: true, events }), {
    ...taking.options,
    loaded: sessions.fresh(id),
    beside,
    maxRetries: 0,
  });
  return executed.status === 'appended' ? { outcome: 'command', sessionId: id } : { outcome: 'known' };
}
