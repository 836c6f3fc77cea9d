import { pause } from '@angelia/waiting';
import { z } from 'zod';
import type { ChatUpdate, ConnectionContext } from '../../platform.ts';
import { CallRefused } from '../call-json.ts';
import { ChatRefused } from '../chat-refused.ts';
import { answerInteraction, deferIfSlow } from './answer-interaction.ts';
import { catchUp } from './catch-up.ts';
import { Channels } from './channels.ts';
import { callDiscord } from './discord-call.ts';
import { COMMAND_RECEIVED, isCommand, readInteraction, tokenOf } from './discord-interaction.ts';
import { readMessage } from './discord-message.ts';
import { meaningOfClose } from './gateway-close.ts';
import { type GatewayPosition, idOfTime, newerId, readPosition, writePosition } from './gateway-position.ts';
import { type Frame, GatewaySocket, OP } from './gateway-socket.ts';

/**
 * Discord's gateway (https://docs.discord.com/developers/events/gateway): messages come only here. After a drop the session is
 * resumed behind the last event that is durable, so Discord repeats what was not taken.
 */

/** GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT. */
const INTENTS = (1 << 9) | (1 << 12) | (1 << 15);
/** If the position moves without messages for us, it is recorded this often, because Discord repeats only the last minutes. */
const RECORD_EVERY_MS = 300_000;

export async function runGateway(context: ConnectionContext): Promise<void> {
  const { signal } = context;
  const channels = new Channels(context);
  let position = readPosition(context.offset);
  let resumable = position !== null;
  while (!signal.aborted) {
    const ended = await new Connection(context, channels, position, resumable).run();
    position = ended.position;
    resumable = ended.resumable;
    if (signal.aborted) return;
    // The caller retries a broken connection, with growing pauses. A reconnect that Discord asks for happens at once.
    if (ended.again === 'later') throw new Error(ended.why);
    if (ended.again === 'soon') await pause(1_000 + Math.random() * 4_000, signal);
  }
}

interface Ended {
  readonly position: GatewayPosition | null;
  readonly resumable: boolean;
  /** `soon`: in 1 to 5 s, as Discord wants it before a new session. */
  readonly again: 'now' | 'soon' | 'later';
  readonly why: string;
}

const readySchema = z.object({
  session_id: z.string(),
  resume_gateway_url: z.url({ protocol: /^wss?$/ }),
  user: z.object({ id: z.string().regex(/^\d{1,20}$/) }),
});
const gatewaySchema = z.object({
  url: z.url({ protocol: /^wss?$/ }),
  session_start_limit: z.object({ remaining: z.number(), reset_after: z.number() }).optional(),
});
const ABNORMAL = 1_006;
const NEVER_OPENED: Ended = {
  position: null,
  resumable: false,
  again: 'later',
  why: 'no connection to the gateway of Discord',
};
const idSchema = z.object({ id: z.string().regex(/^\d{1,20}$/) });

class Connection {
  readonly #context: ConnectionContext;
  readonly #channels: Channels;
  #position: GatewayPosition | null;
  #resumable: boolean;
  /** A session was begun or resumed here: asking for a new connection is not a loop. */
  #established = false;
  #recordedAt = performance.now();

  constructor(
    context: ConnectionContext,
    channels: Channels,
    position: GatewayPosition | null,
    resumable: boolean,
  ) {
    this.#context = context;
    this.#channels = channels;
    this.#position = position;
    this.#resumable = resumable;
  }

  async run(): Promise<Ended> {
    const resumed = this.#resumable ? this.#position : null;
    if (resumed === null) return this.#connect(await this.#gatewayUrl());
    const ended = await this.#connect(resumed.url);
    // The host of the session is gone. Discord also resumes at the general address.
    return ended === NEVER_OPENED ? this.#connect(await this.#gatewayUrl()) : ended;
  }

  async #connect(address: string): Promise<Ended> {
    const { signal } = this.#context;
    const url = new URL(address);
    url.search = '?v=10&encoding=json';
    const socket = new GatewaySocket(url.href, this.#position?.seq ?? null);
    let opened = false;
    try {
      while (!signal.aborted) {
        const frames = await socket.receive(signal);
        if (frames.length === 0) break;
        opened = true;
        const ended = await this.#take(frames, socket);
        if (ended !== null) return ended;
      }
    } finally {
      socket.close();
    }
    return opened || signal.aborted ? this.#afterClose(socket.closed) : NEVER_OPENED;
  }

  /** Null: the connection goes on. */
  async #take(frames: readonly Frame[], socket: GatewaySocket): Promise<Ended | null> {
    const dispatched: Frame[] = [];
    for (const frame of frames) {
      switch (frame.op) {
        case OP.hello:
          this.#introduce(socket);
          break;
        case OP.dispatch:
          // A new session begins at 1, and what is asked for again must be durable before anything that came later.
          if (frame.t === 'READY') await this.#ready(frame, socket);
          else dispatched.push(frame);
          break;
        case OP.reconnect:
          await this.#takeDispatched(dispatched, socket);
          return this.#ended(this.#established ? 'now' : 'later', 'Discord asked for a new connection');
        case OP.invalidSession:
          return this.#invalidSession(frame.d === true);
      }
    }
    await this.#takeDispatched(dispatched, socket);
    return null;
  }

  #introduce(socket: GatewaySocket): void {
    const token = String(this.#context.settings.target.bot_token);
    const position = this.#resumable ? this.#position : null;
    if (position !== null) {
      socket.send({ op: OP.resume, d: { token, session_id: position.session, seq: position.seq } });
      return;
    }
    const properties = { os: process.platform, browser: 'angelia', device: 'angelia' };
    socket.send({ op: OP.identify, d: { token, intents: INTENTS, properties } });
  }

  async #ready({ d, s }: Frame, socket: GatewaySocket): Promise<void> {
    const { session_id: session, resume_gateway_url: url, user } = readySchema.parse(d);
    const before = this.#position;
    let newest = before?.newest ?? idOfTime(Date.now());
    if (before !== null) newest = await catchUp(this.#context, this.#channels, user.id, newest);
    await this.#record({ session, url, seq: s ?? 0, botId: user.id, newest }, [], socket);
    this.#resumable = true;
    this.#established = true;
    this.#context.connected();
  }

  async #takeDispatched(frames: readonly Frame[], socket: GatewaySocket): Promise<void> {
    const before = this.#position;
    const last = frames.at(-1);
    if (before === null || last === undefined) return;
    if (frames.some(({ t }) => t === 'RESUMED')) {
      this.#established = true;
      this.#context.connected();
    }
    const interactions = frames.filter(({ t }) => t === 'INTERACTION_CREATE').map(({ d }) => d);
    const settle = deferIfSlow(
      interactions.flatMap((one) => tokenOf(one) ?? []),
      this.#context,
    );
    try {
      await this.#takeUpdates(frames, before, socket);
    } finally {
      settle();
    }
    await this.#answerCommands(interactions);
  }

  async #takeUpdates(
    frames: readonly Frame[],
    before: GatewayPosition,
    socket: GatewaySocket,
  ): Promise<void> {
    const updates: ChatUpdate[] = [];
    let { newest, seq } = before;
    for (const { t, d, s } of frames) {
      const update = await this.#read(t, d, before.botId);
      if (update !== null) updates.push(update);
      if (t === 'MESSAGE_CREATE') {
        const parsed = idSchema.safeParse(d);
        if (parsed.success) newest = newerId(newest, parsed.data.id);
      }
      seq = s ?? seq;
    }
    const position = { ...before, seq, newest };
    if (updates.length > 0 || performance.now() - this.#recordedAt > RECORD_EVERY_MS) {
      await this.#record(position, updates, socket);
    } else {
      this.#position = position;
      socket.confirmed = seq;
    }
  }

  async #read(type: string | null | undefined, data: unknown, botId: string): Promise<ChatUpdate | null> {
    switch (type) {
      case 'MESSAGE_CREATE':
        return this.#readCreated(data, botId);
      case 'INTERACTION_CREATE':
        return readInteraction(data);
      default:
        // Edits, deletions, and whatever else comes unasked: nothing to take.
        return null;
    }
  }

  /** The parent of a channel is looked up only for messages of people. */
  async #readCreated(data: unknown, botId: string): Promise<ChatUpdate | null> {
    const { guild_id: guild, channel_id: channel } = (data ?? {}) as {
      guild_id?: unknown;
      channel_id?: unknown;
    };
    const direct = typeof guild !== 'string';
    const update = readMessage(data, { botId, direct, parent: null });
    if (update.kind === 'other') return null;
    const parent = direct ? null : await this.#channels.parentOf(String(channel));
    return parent === null ? update : readMessage(data, { botId, direct, parent });
  }

  async #record(
    position: GatewayPosition,
    updates: readonly ChatUpdate[],
    socket: GatewaySocket,
  ): Promise<void> {
    await this.#context.take(updates, writePosition(position));
    this.#recordedAt = performance.now();
    this.#position = position;
    socket.confirmed = position.seq;
  }

  /** Best effort: they are taken, and Discord shows only that nothing came back. */
  async #answerCommands(interactions: readonly unknown[]): Promise<void> {
    const tokens = interactions.filter(isCommand).flatMap((one) => tokenOf(one) ?? []);
    await Promise.allSettled(
      tokens.map((token) => answerInteraction(token, COMMAND_RECEIVED, this.#context)),
    );
  }

  async #gatewayUrl(): Promise<string> {
    let answer: unknown;
    try {
      answer = await callDiscord('GET', '/gateway/bot', this.#context);
    } catch (error) {
      if (error instanceof CallRefused && error.status === 401) {
        throw new ChatRefused(
          'Discord refuses the token. Set targets.discord.bot_token to the token of the bot.',
        );
      }
      throw error;
    }
    const { url, session_start_limit: limit } = gatewaySchema.parse(answer);
    if (limit !== undefined && limit.remaining <= 0) {
      const hours = Math.ceil(limit.reset_after / 3_600_000);
      // Discord resets the token of a bot that keeps trying.
      throw new ChatRefused(`Discord allows this bot no more connections today. Try again in ${hours} h.`);
    }
    return url;
  }

  #invalidSession(mayResume: boolean): Ended {
    const wasResume = this.#resumable;
    this.#resumable = mayResume;
    const again = this.#established || wasResume ? 'soon' : 'later';
    return this.#ended(again, 'Discord no longer has the session');
  }

  #afterClose(code: number | null): Ended {
    const meaning = meaningOfClose(code ?? ABNORMAL);
    if (meaning.kind === 'final') throw new ChatRefused(meaning.reason);
    const wasResume = this.#resumable;
    if (meaning.kind === 'start-anew') this.#resumable = false;
    const isNews = meaning.kind === 'start-anew' && (this.#established || wasResume);
    return this.#ended(isNews ? 'now' : 'later', `the connection to Discord broke (close code ${code})`);
  }

  #ended(again: Ended['again'], why: string): Ended {
    return { position: this.#position, resumable: this.#resumable && this.#position !== null, again, why };
  }
}
