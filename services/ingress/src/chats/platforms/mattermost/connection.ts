import type { ChatUpdate, ConnectionContext } from '../../platform.ts';
import { ChatRefused } from '../chat-refused.ts';
import { openSocket } from '../web-socket.ts';
import { apiUrl, callMattermost } from './api.ts';
import { type OwnUser, readPost } from './updates.ts';

/**
 * Posts over the WebSocket of the API v4. The server keeps nothing for a client that is away, so the offset has the time of
 * the newest post that was taken, and what was written since is read from the channels of the bot: first the socket is opened
 * and its posts wait, then comes what was missed, then what waited. A post that comes both ways is taken once, by its id.
 * The offset also has the time of the newest post before the first connection. Nothing up to it is ever taken.
 */

/** The nodes of a server have different clocks, so posts may arrive in another order than their times say. */
const OVERLAP_MS = 60_000;
/** The server sends a ping each minute, and we ask twice as often, because a proxy may keep those to itself. */
const PING_MS = 30_000;
const SILENT_MS = 100_000;
/** For the answer to our token. */
const GREETING_MS = 20_000;
/** Posts that are made durable together. */
const BATCH = 100;
/**
 * Posts in memory while what was missed is read, or the log is slow. Beyond this, the connection starts again from the offset.
 */
const MOST_WAITING = 5_000;

interface Taken {
  readonly update: ChatUpdate;
  readonly createdAt: number;
}

interface Offset {
  /** The time of the newest post that was taken. */
  readonly newest: number;
  /** The time of the newest post that was there before the first connection. */
  readonly before: number;
}

function readOffset(text: string): Offset {
  const [newest = 0, before = 0] = text.split(',').map(Number);
  return { newest, before };
}

interface Channel {
  readonly id: string;
  readonly type: string;
  readonly last_post_at: number;
}

interface RawPost {
  readonly id: string;
  readonly create_at: number;
  readonly user_id: string;
}

export async function runWebSocket(context: ConnectionContext): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const inner: ConnectionContext = { ...context, signal };
  const over = Promise.withResolvers<void>();
  const onAbort = () => over.resolve();
  context.signal.addEventListener('abort', onAbort, { once: true });
  if (context.signal.aborted) over.resolve();
  try {
    await Promise.race([follow(inner, over.reject), over.promise]);
    await over.promise;
  } catch (error) {
    // An interruption by a stop is not a failure.
    if (!context.signal.aborted) throw error;
  } finally {
    context.signal.removeEventListener('abort', onAbort);
    stop.abort();
  }
}

/** Resolves when what was missed is taken, and goes on until the signal aborts. */
async function follow(context: ConnectionContext, fail: (error: unknown) => void): Promise<void> {
  const self = await callMattermost<OwnUser>('GET', '/users/me', context);
  const intake = new Intake(context, fail);
  await greet(context, self, intake, fail);
  context.connected();
  await catchUp(context, self, intake);
  intake.open();
}

/** Resolves when the server has taken our token. */
async function greet(
  { settings, signal }: ConnectionContext,
  self: OwnUser,
  intake: Intake,
  fail: (error: unknown) => void,
): Promise<void> {
  const url = apiUrl({ settings }, '/websocket');
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const greeted = Promise.withResolvers<void>();
  let asked = 1;
  let expected: number | null = null;
  const socket = openSocket(url.href, {
    signal,
    silentMs: SILENT_MS,
    opened: (opened) =>
      opened.send({ seq: asked, action: 'authentication_challenge', data: { token: settings.target.token } }),
    message(message) {
      if (message.seq_reply === 1) {
        if (message.status === 'OK') greeted.resolve();
        else greeted.reject(new ChatRefused('Mattermost refused targets.mattermost.token'));
      }
      const { event, seq, data } = message;
      if (typeof event !== 'string') return;
      // The events of a connection are numbered, because the server drops some if we are too slow.
      if (typeof seq === 'number') {
        if (expected !== null && seq !== expected) {
          // New posts are later than the missed ones. They wait until those are read.
          socket.close();
          fail(
            new Error(`Mattermost skipped from event ${expected} to ${seq}: reading again what was missed`),
          );
          return;
        }
        expected = seq + 1;
      }
      if (event === 'posted') intake.put(readPosted(data, self, settings));
    },
  });
  const ping = setInterval(() => {
    asked += 1;
    socket.send({ seq: asked, action: 'ping' });
  }, PING_MS);
  const late = setTimeout(() => greeted.reject(new Error('Mattermost did not answer')), GREETING_MS);
  void socket.ended.then((why) => {
    clearInterval(ping);
    const error = new Error(`Mattermost, WebSocket: ${why}`);
    greeted.reject(error);
    fail(error);
  });
  try {
    await greeted.promise;
  } finally {
    clearTimeout(late);
  }
}

function readPosted(data: unknown, self: OwnUser, settings: ConnectionContext['settings']): Taken | null {
  const { post, channel_type, sender_name } = (data ?? {}) as Readonly<Record<string, unknown>>;
  const said = { channelType: String(channel_type ?? ''), sender: String(sender_name ?? '') };
  const { update, createdAt } = readPost(parsed(post), said, self, settings, Date.now());
  return createdAt === null ? null : { update, createdAt };
}

/** Takes what was written since the offset, oldest first. Without an offset it begins with what is written from now on. */
async function catchUp(context: ConnectionContext, self: OwnUser, intake: Intake): Promise<void> {
  const channels = await callMattermost<readonly Channel[]>('GET', `/users/${self.id}/channels`, context);
  const newest = channels.reduce((most, { last_post_at: at }) => Math.max(most, at), 0);
  if (context.offset === null) {
    // A bot without channels gets the first post of a new channel by the connection.
    await intake.begin({ newest: newest || Date.now(), before: newest });
    return;
  }
  const offset = readOffset(context.offset);
  const since = Math.max(offset.newest - OVERLAP_MS, offset.before + 1);
  intake.startAt(offset);
  const missed: Taken[] = [];
  for (const { id, type, last_post_at: at } of channels) {
    if (at < since) continue;
    const { posts } = await callMattermost<{ readonly posts?: Readonly<Record<string, RawPost>> }>(
      'GET',
      `/channels/${id}/posts?since=${since}`,
      context,
    );
    for (const raw of Object.values(posts ?? {})) {
      // The list also has older posts that were edited, or got a reaction.
      if (raw.create_at < since) continue;
      const said = { channelType: type, sender: raw.user_id };
      const { update, createdAt } = readPost(raw, said, self, context.settings, Date.now());
      if (createdAt !== null) missed.push({ update, createdAt });
    }
  }
  missed.sort((a, b) => a.createdAt - b.createdAt);
  await intake.takeAll(missed);
}

function parsed(post: unknown): unknown {
  try {
    return typeof post === 'string' ? JSON.parse(post) : null;
  } catch {
    return null; // readPost says that it cannot be read
  }
}

/** Takes posts in the order in which they came, those that came during the last append together. */
class Intake {
  readonly #context: ConnectionContext;
  readonly #fail: (error: unknown) => void;
  readonly #waiting: Taken[] = [];
  #offset: Offset = { newest: 0, before: 0 };
  #open = false;
  #working = false;

  constructor(context: ConnectionContext, fail: (error: unknown) => void) {
    this.#context = context;
    this.#fail = fail;
  }

  put(taken: Taken | null): void {
    if (taken === null) return;
    if (this.#waiting.length >= MOST_WAITING) {
      this.#fail(new Error(`more than ${MOST_WAITING} posts of Mattermost wait: reading them again`));
      return;
    }
    this.#waiting.push(taken);
    this.#wake();
  }

  startAt(offset: Offset): void {
    this.#offset = offset;
  }

  /** Makes the offset durable from which the next connection goes on. */
  async begin(offset: Offset): Promise<void> {
    this.#offset = offset;
    await this.#context.take([], this.#written());
  }

  open(): void {
    this.#open = true;
    this.#wake();
  }

  async takeAll(all: readonly Taken[]): Promise<void> {
    for (let first = 0; first < all.length; first += BATCH) {
      const batch = all.slice(first, first + BATCH);
      const { newest, before } = this.#offset;
      this.#offset = { newest: Math.max(newest, ...batch.map(({ createdAt }) => createdAt)), before };
      await this.#context.take(
        batch.map(({ update }) => update),
        this.#written(),
      );
    }
  }

  #written(): string {
    return `${this.#offset.newest},${this.#offset.before}`;
  }

  #wake(): void {
    if (!this.#open || this.#working) return;
    this.#working = true;
    this.#work()
      .catch(this.#fail)
      .finally(() => {
        this.#working = false;
      });
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#context.signal.aborted)
      await this.takeAll(this.#waiting.splice(0, BATCH));
  }
}
