import { cancelSubject, type SessionFact, type SessionId } from '@angelia/contracts';
import {
  type CreateSession,
  continuation,
  type Decision,
  decide,
  initialState,
  type SessionState,
} from '@angelia/session';
import { type KeyedPlan, type Loaded, newFenceSeed, newSessionId } from '@angelia/sessions';
import { commitAnswer } from './answer.ts';
import { conversationKey, conversationName } from './conversation-key.ts';
import { broughtBy, inputOf, queuedText, shownName, titleOf } from './input.ts';
import { numberedChoice } from './numbered-choice.ts';
import type { TakeContext, Taken, TakingMessage } from './take-context.ts';

/**
 * A message that belongs to no delivered message: it opens the conversation of its chat or thread, continues it, or is a
 * further turn of it. Conversations are sessions with a `session_key`; their config is captured when a session is made
 * (invariant config-is-a-fact).
 */
export async function converse(context: TakeContext, taking: TakingMessage): Promise<Taken> {
  const { chat, update, options } = taking;
  const id = newSessionId();
  const fenceSeed = newFenceSeed();
  const executed = await context.keyed.execute<SessionId>(
    conversationKey(chat, update),
    (current) => planMessage(current, taking, id, fenceSeed),
    options,
  );
  switch (executed.status) {
    case 'appended': {
      const types = new Set(executed.facts.map(({ type }) => type));
      const sessionId = executed.loaded.id;
      if (types.has('run.cancelled')) context.bus.ping(cancelSubject(sessionId));
      return { outcome: types.has('clarification.answered') ? 'answer' : 'turn', sessionId };
    }
    case 'duplicate':
      return { outcome: 'known' };
    case 'refused':
      return tellBusy(context, taking, executed.refusal);
    case 'limited':
      throw new Error('a conversation has no rate limit, but was limited');
  }
}

function planMessage(
  current: Loaded | null,
  taking: TakingMessage,
  id: SessionId,
  fenceSeed: string,
): KeyedPlan<SessionId> {
  const created = current?.state.created ?? null;
  const open = (from: Partial<CreateSession> = {}): KeyedPlan<SessionId> => ({
    to: 'new',
    id,
    facts: factsOf(decide(initialState(), { ...conversationOf(taking, fenceSeed), ...from })),
  });
  if (current === null || created === null) return open();
  // Until somebody writes, the session of `/new` is the current session under the key. It may have given the conversation a
  // title.
  if (created.deliverOnly) return open(created.title === '' ? {} : { title: created.title });
  if (current.state.ended !== null) {
    const {
      continues = null,
      conversationId = null,
      watcher = null,
      history = [],
      title,
    } = continuation(current);
    return open({ continues, conversationId, watcher, history, title });
  }
  if (isRefusedAsBusy(taking, current.state)) return { to: 'none', refusal: current.id };
  return { to: 'current', facts: factsOf(decideMessage(current, taking)) };
}

function conversationOf(taking: TakingMessage, fenceSeed: string): CreateSession {
  const { chat, update, options } = taking;
  return {
    type: 'create-session',
    route: chat.route,
    event: 'message',
    deliveryId: options.key.key,
    title: titleOf(update.text) || chat.route,
    agent: chat.agent,
    toolsets: chat.toolsets,
    tools: chat.tools,
    deliverFiles: chat.deliverFiles,
    deliver: { target: chat.platform.name, to: { ...update.answerTo }, untrusted_address: false },
    interim: chat.interim,
    sessionKey: conversationName(chat, update),
    fenceSeed,
    source: 'message',
    input: inputOf(taking),
    ...broughtBy(taking),
  };
}

/** What a message does to a session that is open: it answers the open question, or is a further turn. */
export function decideMessage(session: Pick<Loaded, 'state' | 'events'>, taking: TakingMessage): Decision {
  const { chat, update } = taking;
  const { state } = session;
  const { clarification } = state;
  const input = inputOf(taking);
  if (clarification !== null) {
    return decide(state, {
      type: 'answer-clarification',
      clarificationId: clarification.id,
      answer: numberedChoice(session, update.text) ?? input,
      by: 'chat',
      person: shownName(update.from),
      ...broughtBy(taking),
    });
  }
  return decide(state, {
    type: 'request-turn',
    source: 'message',
    input,
    ...broughtBy(taking),
    // The key of the append recognises a repeat.
    deliveryId: null,
    interrupt: chat.onBusy === 'interrupt',
    queuedText: queuedText(state),
  });
}

/** An answer to a question is never refused. */
export function isRefusedAsBusy({ chat }: TakingMessage, state: SessionState): boolean {
  return (
    chat.onBusy === 'reject' && state.ended === null && state.clarification === null && state.turns.length > 0
  );
}

export function tellBusy(context: TakeContext, taking: TakingMessage, session: SessionId): Promise<Taken> {
  return commitAnswer(context, taking, {
    text: 'I am still working on your last message, so I have not taken this one. Send it again when I am done, or send /stop.',
    title: 'Busy',
    event: 'busy',
    about: session,
  });
}

/** planMessage asks only for what the state allows, so a refusal here is a bug. */
function factsOf(decision: Decision): readonly SessionFact[] {
  if (!decision.ok)
    throw new Error(`a conversation refused a message (${decision.code}): ${decision.reason}`);
  return decision.events;
}
