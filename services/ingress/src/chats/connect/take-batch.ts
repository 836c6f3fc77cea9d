import { hash } from 'node:crypto';
import type { KeyEventData } from '@angelia/contracts';
import type { EventLog, StreamAppend } from '@angelia/event-log';
import { newEventId, Superseded } from '@angelia/sessions';
import type { Chat } from '../chat.ts';
import type { ChatUpdate } from '../platform.ts';
import type { InOrder } from '../take/in-order.ts';
import type { TakeContext } from '../take/take-context.ts';
import { takeUpdate } from '../take/take-update.ts';

/** How far a connection has come, as the log says. */
export interface ReadOffset {
  readonly version: number;
  readonly offset: string | null;
}

/** Not `key-`: pruning would take it for a key whose session is gone. It keeps the last event and removes the others. */
export function offsetStream(chat: Chat, account: string): string {
  return `chat-offset-${hash('sha256', JSON.stringify([chat.platform.name, chat.name, account]))}`;
}

export async function readOffset(log: Pick<EventLog, 'streams'>, stream: string): Promise<ReadOffset> {
  const head = await log.streams.readHead(stream);
  if (head === null) return { version: 0, offset: null };
  return { version: head.version, offset: (head.data as KeyEventData<'key.chat-offset'>).offset };
}

export interface BatchContext extends TakeContext {
  readonly inOrder: InOrder;
  readonly append: EventLog['append'];
  readonly instance: string;
}

/**
 * Takes a batch of updates from a connection. Chats do not wait for each other; within a chat the order stays. The new offset
 * is in the same append as what the last update of the batch starts, at the version that was read: a process that no longer
 * leads (because it was frozen) gets a conflict there. If it takes updates again before that, their keys show that they were
 * taken. Updates that start nothing need no event.
 *
 * @throws Superseded; LogUnavailable and its like: the batch has to be brought again
 */
export async function takeBatch(
  context: BatchContext,
  chat: Chat,
  updates: readonly ChatUpdate[],
  stream: string,
  known: ReadOffset,
  offset: string | undefined,
): Promise<ReadOffset> {
  const lastAt = updates.findLastIndex(({ kind }) => kind !== 'other');
  const last = updates[lastAt];
  if (last === undefined) {
    // A connection may report only its offset, such as the first one. It is recorded, so that the next updates are not missed
    // after a restart.
    if (updates.length > 0 || offset === undefined) return known;
    await appendOffset(context, offsetAppend(stream, known.version, offset, context.instance));
    return { version: known.version + 1, offset };
  }
  await Promise.all(
    updates
      .slice(0, lastAt)
      .map((update) => context.inOrder.take(chat, update, () => takeUpdate(context, chat, update))),
  );
  if (offset === undefined) {
    await context.inOrder.take(chat, last, () => takeUpdate(context, chat, last));
    return known;
  }
  const fence = offsetAppend(stream, known.version, offset, context.instance);
  const taken = await context.inOrder.take(chat, last, () => takeUpdate(context, chat, last, fence));
  if (taken.outcome === 'ignored') return known;
  // A repeated update appended nothing, so the offset of its batch is still missing. The same holds for a click that came late.
  const appended = taken.outcome !== 'known' && !(taken.outcome === 'refused' && last.kind === 'click');
  if (!appended) await appendOffset(context, fence);
  return { version: known.version + 1, offset };
}

/**
 * Called before a connection is closed. An update that was refused must not be read again after a new config or a pairing would
 * let it in.
 * @throws Superseded; LogUnavailable and its like
 */
export async function leaveOffset(
  context: Pick<BatchContext, 'append' | 'instance'>,
  stream: string,
  known: ReadOffset,
  read: string | null,
): Promise<void> {
  if (read === null || read === known.offset) return;
  await appendOffset(context, offsetAppend(stream, known.version, read, context.instance));
}

async function appendOffset({ append }: Pick<BatchContext, 'append'>, fence: StreamAppend): Promise<void> {
  const result = await append({ streams: [fence] });
  if (result.status === 'conflict')
    throw new Superseded(`${fence.streamId} has moved on: another process leads`);
}

function offsetAppend(stream: string, version: number, offset: string, actor: string): StreamAppend {
  const data: KeyEventData<'key.chat-offset'> = { offset };
  const meta = { actor, correlation: stream };
  const event = { eventId: newEventId(), type: 'key.chat-offset', data, meta };
  return { streamId: stream, expectedVersion: version, events: [event] };
}
