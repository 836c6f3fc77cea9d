import { pause } from '@angelia/waiting';
import type { ChatUpdate, ConnectionContext } from '../../platform.ts';
import { CallRefused } from '../call-json.ts';
import { ChatRefused } from '../chat-refused.ts';
import { fetchGap } from './gap.ts';
import { invitedBy, joinRoom, sinceInvited } from './invites.ts';
import { callMatrix } from './matrix-call.ts';
import { readEvent } from './matrix-event.ts';
import { Rooms } from './rooms.ts';
import { EVENT_TYPES, type JoinedRoom, readSync, type Synced } from './sync-answer.ts';

/** https://spec.matrix.org/latest/client-server-api/#syncing: the server holds each request until something happens. */

/** Longer ones are cut by some proxies. */
const POLL_MS = 30_000;
/** Above the time that the server takes. A sync after a long outage takes some seconds more. */
const POLL_LIMIT_MS = POLL_MS + 30_000;
/** Of one room in one answer. What is more is asked for (`limited`). */
const TIMELINE = 50;
/** A position that moved without anything that concerns us is recorded this often: a sync from far back is expensive. */
const RECORD_EVERY_MS = 300_000;

const NOTHING = { types: [] };
const filter = (limit: number) =>
  JSON.stringify({
    presence: NOTHING,
    account_data: NOTHING,
    room: {
      account_data: NOTHING,
      ephemeral: NOTHING,
      state: { types: ['m.room.member'], lazy_load_members: true },
      timeline: { types: EVENT_TYPES, limit },
    },
  });
const FILTER = filter(TIMELINE);
/** The first sync takes nothing: it only says where we are. */
const FIRST_FILTER = filter(1);

export async function runSync(context: ConnectionContext): Promise<void> {
  const { signal, take, connected } = context;
  const self = await checkUser(context);
  const rooms = new Rooms(context);
  const told = new Set<string>();
  let since = context.offset;
  let recordedAt = performance.now();
  while (!signal.aborted) {
    const synced = await sync(context, since);
    if (synced === null) continue;
    connected();
    const updates = since === null ? [] : await updatesOf(synced, { context, self, rooms, since, told });
    await acceptInvites(synced, context, self);
    const { next_batch: next } = synced;
    const isDue = since === null || performance.now() - recordedAt > RECORD_EVERY_MS;
    if (updates.length > 0 || (isDue && next !== since)) {
      await take(updates, next);
      recordedAt = performance.now();
    }
    since = next;
  }
}

/** @throws ChatRefused */
async function checkUser(context: ConnectionContext): Promise<string> {
  const wanted = String(context.settings.chat.user_id);
  const answer = await refusedToken(callMatrix('GET', '/account/whoami', context));
  const { user_id: self } = (answer ?? {}) as { user_id?: unknown };
  if (self !== wanted) {
    throw new ChatRefused(
      `targets.matrix.access_token belongs to ${String(self)}, and the chat says ${wanted}. Correct one of them.`,
    );
  }
  return wanted;
}

async function refusedToken<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof CallRefused && error.status === 401) {
      throw new ChatRefused(
        'The homeserver refuses the token. Set targets.matrix.access_token to a new one.',
      );
    }
    throw error;
  }
}

const BUSY_SECONDS = 5;

/** Null: ask again. */
async function sync(context: ConnectionContext, since: string | null): Promise<Synced | null> {
  const query = new URLSearchParams(
    since === null
      ? { filter: FIRST_FILTER, timeout: '0', set_presence: 'online' }
      : { filter: FILTER, timeout: String(POLL_MS), set_presence: 'online', since },
  );
  try {
    const call = callMatrix('GET', `/sync?${query}`, context, { timeoutMs: POLL_LIMIT_MS });
    return readSync(await refusedToken(call));
  } catch (error) {
    if (context.signal.aborted) return null;
    if (!(error instanceof CallRefused && error.status === 429)) throw error;
    const { retry_after_ms: ms } = error.answer;
    const seconds = error.retryAfterSeconds ?? (typeof ms === 'number' ? ms / 1000 : BUSY_SECONDS);
    await pause(seconds * 1000, context.signal);
    return null;
  }
}

interface Reading {
  readonly context: ConnectionContext;
  readonly self: string;
  readonly rooms: Rooms;
  readonly since: string;
  /** Rooms whose encryption the operator was told of. */
  readonly told: Set<string>;
}

async function updatesOf({ rooms: { join } }: Synced, reading: Reading): Promise<ChatUpdate[]> {
  const updates: ChatUpdate[] = [];
  for (const [room, joined] of Object.entries(join)) updates.push(...(await readRoom(room, joined, reading)));
  return updates;
}

async function readRoom(
  room: string,
  { timeline, state }: JoinedRoom,
  reading: Reading,
): Promise<ChatUpdate[]> {
  const { context, self, rooms, since, told } = reading;
  const missed =
    timeline.limited && timeline.prev_batch !== undefined
      ? await fetchGap({ room, from: timeline.prev_batch, to: since }, context)
      : [];
  const events = sinceInvited([...missed, ...timeline.events], self);
  if (state.events.length > 0 || events.some(({ type }) => type === 'm.room.member')) rooms.changed(room);
  if (events.some(({ type }) => type === 'm.room.encrypted') && !told.has(room)) {
    told.add(room);
    context.tell(`room ${room} is encrypted, and its messages cannot be read: use a room without encryption`);
  }
  const updates: ChatUpdate[] = [];
  for (const event of events) {
    // Who is in the room is asked for only if somebody has spoken.
    if (event.type !== 'm.room.message' || event.sender === self) continue;
    const update = readEvent(event, { self, room, members: await rooms.members(room) });
    if (update.kind !== 'other') updates.push(update);
  }
  return updates;
}

async function acceptInvites(
  { rooms: { invite } }: Synced,
  context: ConnectionContext,
  self: string,
): Promise<void> {
  for (const [room, { invite_state: state }] of Object.entries(invite)) {
    const inviter = invitedBy(state.events, self);
    if (inviter !== null && mayInvite(room, inviter, context)) await joinRoom(room, context);
  }
}

function mayInvite(room: string, inviter: string, { settings }: ConnectionContext): boolean {
  const { speakers } = settings.chat as {
    readonly speakers?: {
      readonly users?: readonly string[];
      readonly chats?: readonly string[];
      readonly anyone?: boolean;
    };
  };
  if (speakers === undefined) return false;
  const { users = [], chats = [], anyone = false } = speakers;
  return anyone || users.includes(inviter) || chats.includes(room);
}
