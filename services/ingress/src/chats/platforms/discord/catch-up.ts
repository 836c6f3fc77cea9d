import type { ChatUpdate, ConnectionContext } from '../../platform.ts';
import { CallRefused } from '../call-json.ts';
import type { Channels } from './channels.ts';
import { callDiscord } from './discord-call.ts';
import { readMessage } from './discord-message.ts';
import { newerId } from './gateway-position.ts';

/** The most that Discord gives at once. */
const PAGE = 100;
/** Per channel. People do not write more than that to a bot during an outage. */
const MOST_PAGES = 10;
/** Conversations of two are opened to be asked for, one call each. */
const MOST_PEOPLE = 50;

/**
 * Discord forgets a session after some minutes, and does not send the messages of that time by itself. So this reads the
 * messages in the channels, and of the people, of the config that are newer than the last message taken. Returns the newest
 * message.
 *
 * @throws Error if Discord cannot be asked now; LogUnavailable
 */
export async function catchUp(
  context: ConnectionContext,
  channels: Channels,
  botId: string,
  after: string,
): Promise<string> {
  let newest = after;
  for (const id of await channelsToAsk(context)) {
    const { parent, direct } = await channels.find(id);
    let from = after;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const messages = await messagesAfter(context, id, from);
      const updates = messages.map((message) => readMessage(message, { botId, direct, parent }));
      if (updates.length > 0) await context.take(updates.filter(isTaken));
      for (const message of messages) from = newerId(from, message.id);
      if (messages.length < PAGE) break;
    }
    newest = newerId(newest, from);
  }
  return newest;
}

const isTaken = ({ kind }: ChatUpdate): boolean => kind !== 'other';

async function channelsToAsk(context: ConnectionContext): Promise<string[]> {
  const { speakers } = context.settings.chat as {
    readonly speakers?: { readonly users?: readonly string[]; readonly chats?: readonly string[] };
  };
  const ids = [...(speakers?.chats ?? [])].filter(isId);
  for (const user of [...(speakers?.users ?? [])].filter(isId).slice(0, MOST_PEOPLE)) {
    const channel = await unlessRefused(
      callDiscord('POST', '/users/@me/channels', context, { recipient_id: user }),
    );
    const { id } = (channel ?? {}) as { id?: unknown };
    if (typeof id === 'string' && isId(id)) ids.push(id);
  }
  return ids;
}

const isId = (id: string): boolean => /^\d{1,20}$/.test(id);

/** Oldest first. */
async function messagesAfter(
  context: ConnectionContext,
  channel: string,
  after: string,
): Promise<readonly { readonly id: string }[]> {
  const answer = await unlessRefused(
    callDiscord('GET', `/channels/${channel}/messages?after=${after}&limit=${PAGE}`, context),
  );
  if (!Array.isArray(answer)) return [];
  return (answer as unknown[])
    .filter(hasId)
    .sort((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
}

function hasId(message: unknown): message is { readonly id: string } {
  return typeof message === 'object' && message !== null && 'id' in message && isId(String(message.id));
}

/** A channel that is gone, or whose history we may not read, is skipped. */
async function unlessRefused(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (
      error instanceof CallRefused &&
      (error.status === 403 || error.status === 404 || error.status === 400)
    )
      return null;
    throw error;
  }
}
