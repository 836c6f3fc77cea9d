import type { Loaded } from '@angelia/sessions';
import { conversationKey } from '../conversation-key.ts';
import { sessionUnder } from '../replies.ts';
import type { TakeContext, TakingMessage } from '../take-context.ts';

/** Whether the agent that will read the message can open files in its session's directory. */
export async function opensFiles(
  context: Pick<TakeContext, 'log' | 'sessions'>,
  { chat, update }: TakingMessage,
  session: Loaded | null,
): Promise<boolean> {
  const created = (session ?? (await openConversation(context, { chat, update })))?.state.created;
  // A conversation that begins, or goes on after its end, is made as the chat says now.
  if (created == null) return chat.opensFiles(chat.agent, chat.toolsets);
  return chat.opensFiles(created.agent, created.toolsets ?? null);
}

async function openConversation(
  context: Pick<TakeContext, 'log' | 'sessions'>,
  { chat, update }: Pick<TakingMessage, 'chat' | 'update'>,
): Promise<Loaded | null> {
  const id = await sessionUnder(context, conversationKey(chat, update));
  const current = id === null ? null : await context.sessions.load(id);
  return current?.state.ended === null ? current : null;
}
