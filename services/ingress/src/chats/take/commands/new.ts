import { threadKey } from '@angelia/chats';
import type { KeyEventData } from '@angelia/contracts';
import type { StreamAppend } from '@angelia/event-log';
import { newEventId, newSessionId } from '@angelia/sessions';
import { answerFacts } from '../answer.ts';
import { conversationKey } from '../conversation-key.ts';
import { titleOf } from '../input.ts';
import type { TakeContext, Taken, TakingMessage } from '../take-context.ts';

/**
 * `/new [title]`: the answer becomes the current session of the conversation, and of the thread. Nobody works on it, so the
 * next message opens a session without the history of those before. Sessions at work go on.
 */
export async function startNew(context: TakeContext, taking: TakingMessage, rest: string): Promise<Taken> {
  const { chat, update, options } = taking;
  const { thread } = update.place;
  const title = titleOf(rest);
  const id = newSessionId();
  const facts = answerFacts(taking, {
    text: title === '' ? 'This is a new conversation.' : `This is a new conversation: ${title}`,
    title,
    event: 'command',
  });
  const beside: StreamAppend[] = [];
  if (thread !== null) {
    const key = threadKey(update.place, thread);
    const head = await context.log.streams.readHead(key);
    // Nothing has been delivered into the thread, so there is nothing to forget.
    if (head !== null) {
      const data: KeyEventData<'key.session-opened'> = { session_id: id };
      const meta = { actor: options.actor, correlation: id };
      const event = { eventId: newEventId(), type: 'key.session-opened', data, meta };
      beside.push({ streamId: key, expectedVersion: head.version, events: [event] });
    }
  }
  const executed = await context.keyed.execute(
    conversationKey(chat, update),
    () => ({ to: 'new', id, facts }),
    { ...options, beside },
  );
  return executed.status === 'duplicate' ? { outcome: 'known' } : { outcome: 'command', sessionId: id };
}
