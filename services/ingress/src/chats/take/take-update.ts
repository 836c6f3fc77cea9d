import { hash } from 'node:crypto';
import {
  freshTraceparent,
  type Loaded,
  nameActiveSession,
  traceparentNow,
  withSpan,
} from '@angelia/sessions';
import { SpanKind } from '@opentelemetry/api';
import type { Chat } from '../chat.ts';
import type { ChatClick, ChatMessage, ChatUpdate } from '../platform.ts';
import { answerBeside } from './answer.ts';
import { takeClick } from './clicks.ts';
import { isCommand, takeCommand } from './commands/commands.ts';
import { converse } from './converse.ts';
import { bringFiles } from './files/bring-files.ts';
import { opensFiles } from './files/opens-files.ts';
import { isKeepable } from './keepable.ts';
import { mayPair, takePairing } from './pair.ts';
import { addressedSession, isAddressed, speakTo } from './replies.ts';
import { type Speaker, speakerOf, tellStranger } from './speakers.ts';
import { type Fence, ignored, STRANGER, type TakeContext, type Taken, type Taking } from './take-context.ts';

/**
 * What an update of a chat does: who may speak, then command, click, reply or conversation. Whatever it starts is appended
 * under its idempotency key, so a repeat starts nothing. Resolves once that is durable (invariant accepted-is-durable).
 *
 * An update that starts nothing costs only a look-up in memory: strangers, bots, edits and forwarded commands (invariant
 * strangers-cost-little).
 *
 * @throws LogUnavailable, LogOverloaded: nothing was taken, the platform should send it again; Superseded
 */
export async function takeUpdate(
  context: TakeContext,
  chat: Chat,
  update: ChatUpdate,
  fence?: Fence,
): Promise<Taken> {
  if (update.kind === 'other') return ignored(update.why);
  if (update.from.bot) return ignored('a bot');
  if (!isKeepable(update)) return ignored('an id that the log cannot store');
  if (update.kind === 'message' && mayPair(update)) {
    return takePairing(context, takingOf(chat, update, null, fence));
  }
  const speaker = await speakerOf(context.pairings, chat, update);
  if (speaker === null) {
    return update.kind === 'message'
      ? tellStranger(context, takingOf(chat, update, null, fence))
      : ignored(STRANGER);
  }
  return inSpan(chat, async () => {
    if (update.kind === 'click') return takeClick(context, takingOf(chat, update, speaker, fence));
    if (!(await isOnlyUse(context, chat, update))) return ignored('the proof of another message');
    return takeMessage(context, takingOf(chat, update, speaker, fence));
  });
}

/**
 * Only for whoever may speak. Telemetry's own http spans leave chats out (service-kit, telemetry.ts): anybody can send such a
 * request, with a trace of their choice, until the platform's signature is checked.
 */
function inSpan(chat: Chat, take: () => Promise<Taken>): Promise<Taken> {
  return withSpan(
    () => ({
      name: `update of chat ${chat.name}`,
      kind: SpanKind.CONSUMER,
      attributes: { 'angelia.chat': chat.name, 'angelia.platform': chat.platform.name },
      parent: NEW_TRACE,
    }),
    async (span) => {
      const taken = await take();
      span.setAttribute('angelia.outcome', taken.outcome);
      if (taken.sessionId !== undefined) nameActiveSession(taken.sessionId);
      return taken;
    },
  );
}

/** Unreadable on purpose: withSpan starts a new trace for it, whatever span is active. */
const NEW_TRACE = '';

async function isOnlyUse({ sessions }: TakeContext, chat: Chat, update: ChatMessage): Promise<boolean> {
  const { oneUse, updateId } = update;
  if (oneUse === undefined) return true;
  const { name } = chat.platform;
  const key = `chat-proof:${name}:${hash('sha256', oneUse)}`;
  const own = `${name}:${hash('sha256', updateId)}`;
  return (await sessions.firstUnder({ key, keepSeconds: chat.keepSeconds }, own)) === own;
}

async function takeMessage(context: TakeContext, taking: Taking<ChatMessage>): Promise<Taken> {
  const { chat, update } = taking;
  if (update.forwarded && update.text.trimStart().startsWith('/')) return ignored('a forwarded command');
  if (!(await isAddressed(context, chat, update))) return ignored('not addressed to the bot');
  if (isCommand(update)) return takeCommand(context, taking);
  const session = await addressedSession(context, chat, update);
  if (session === null && !chat.conversations) return ignored('no conversation may start here');
  const whole = await withFiles(context, taking, session);
  if (whole === null) return { outcome: 'known' };
  if (session !== null) {
    const taken = await speakTo(context, whole, session);
    if (taken !== null) return taken;
  }
  return chat.conversations ? converse(context, whole) : ignored('no conversation may start here');
}

/**
 * Files come last, when everything else has been checked, because they cost time and memory. Null: this message was taken
 * before.
 */
async function withFiles(
  context: TakeContext,
  taking: Taking<ChatMessage>,
  session: Loaded | null,
): Promise<Taking<ChatMessage> | null> {
  const { chat, update, options } = taking;
  if (update.files.length === 0) return taking;
  if (chat.files.take && (await context.log.streams.findByKey(options.key.key)) !== null) return null;
  const forCommands = chat.files.take && (await opensFiles(context, taking, session));
  const files = await bringFiles(chat, update, forCommands);
  if (files.refused.length === 0) return { ...taking, files };
  const told = { text: files.refused.join('\n\n'), title: 'Files', event: 'file' } as const;
  return { ...taking, files, options: { ...options, beside: [answerBeside(context, taking, told)] } };
}

function takingOf<Update extends ChatMessage | ChatClick>(
  chat: Chat,
  update: Update,
  speaker: Speaker | null,
  fence: Fence | undefined,
): Taking<Update> {
  const { name } = chat.platform;
  const as = speaker?.name == null ? '' : ` (${speaker.name})`;
  const actor = `chat:${name}:${update.from.id}${as}`;
  return {
    chat,
    update,
    actor,
    options: {
      key: { key: `chat:${name}:${update.updateId}`, keepSeconds: chat.keepSeconds },
      actor,
      traceparent: traceparentNow() ?? freshTraceparent(),
      ...(fence === undefined ? {} : { fence }),
    },
  };
}
