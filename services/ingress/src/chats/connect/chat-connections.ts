import { isDeepStrictEqual } from 'node:util';
import type { RunningConfig } from '@angelia/config';
import type { EventLog } from '@angelia/event-log';
import { type ConnectionNote, type Leading, lead, noteLead } from '@angelia/event-log/leading';
import { CONFIG, EVENT_LOG, LOGGER, type Logger, metrics } from '@angelia/service-kit';
import { Superseded } from '@angelia/sessions';
import { pause } from '@angelia/waiting';
import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { IngressSettings } from '../../settings.ts';
import type { Chat } from '../chat.ts';
import type { ChatConnection } from '../platform.ts';
import { ChatTaking } from '../take/chat-taking.ts';
import { pauseAfterMs } from './pause-after.ts';
import { leaveOffset, offsetStream, readOffset, takeBatch } from './take-batch.ts';

interface Running {
  readonly chat: Chat;
  readonly leading: Leading;
}

export interface ConnectionStatus {
  readonly chat: string;
  readonly platform: string;
  /** Whether this process leads it. */
  readonly leading: boolean;
  readonly connected: boolean;
  /** Why the last try failed; null: it did not. */
  readonly error: string | null;
}

/**
 * Connections that ingress opens to the platforms (`receive: connection`). One replica leads each of them, by a lease row in
 * Postgres. A changed config ends the connections that it changes and opens them anew.
 */
@Injectable()
export class ChatConnections implements OnModuleInit, OnModuleDestroy {
  readonly #running = new Map<string, Running>();
  readonly #status = new Map<string, { connected: boolean; error: string | null }>();
  #changing: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(
    @Inject(CONFIG) private readonly config: RunningConfig<IngressSettings>,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(ChatTaking) private readonly taking: ChatTaking,
  ) {}

  onModuleInit(): void {
    this.#follow(this.config.settings.chats);
    this.config.onTaken(() => this.#follow(this.config.settings.chats));
  }

  async onModuleDestroy(): Promise<void> {
    this.#closed = true;
    await this.#changing;
    await Promise.all([...this.#running.values()].map(({ leading }) => leading.stop()));
  }

  status(): readonly ConnectionStatus[] {
    return [...this.#running].map(([name, { chat, leading }]) => ({
      chat: name,
      platform: chat.platform.name,
      leading: leading.isLeading(),
      connected: this.#status.get(name)?.connected ?? false,
      error: this.#status.get(name)?.error ?? null,
    }));
  }

  #follow(chats: ReadonlyMap<string, Chat>): void {
    this.#changing = this.#changing.then(async () => {
      for (const [name, { chat, leading }] of this.#running) {
        const now = chats.get(name);
        if (now !== undefined && isConnected(now) && isSame(now, chat)) continue;
        this.#running.delete(name);
        await leading.stop();
      }
      for (const [name, chat] of chats) {
        if (this.#closed || !isConnected(chat) || this.#running.has(name)) continue;
        this.#running.set(name, { chat, leading: this.#lead(chat) });
      }
    });
  }

  #lead(chat: Chat): Leading {
    const { log } = this;
    return lead({
      log,
      name: leadOf(chat),
      holder: log.holder,
      seconds: this.config.current.timing.lead_seconds,
      // The epoch is for notes only: each batch is appended at the version of the offset that was read.
      onLead: (epoch, signal) => this.#stayConnected(chat, epoch, signal),
    });
  }

  async #stayConnected(chat: Chat, epoch: number, signal: AbortSignal): Promise<void> {
    const { connection } = chat.platform;
    if (connection === undefined) return;
    const tellDown = (down: 0 | 1) => metrics.chatDown.set({ platform: chat.platform.name }, down);
    const note = this.#noteAs({ name: leadOf(chat), epoch });
    for (let failures = 0; !signal.aborted; ) {
      const state = { connected: false, error: null as string | null };
      this.#status.set(chat.name, state);
      try {
        await this.#connect(chat, connection, signal, () => {
          state.connected = true;
          state.error = null;
          failures = 0;
          tellDown(0);
          note(state);
        });
      } catch (error) {
        state.connected = false;
        if (signal.aborted || error instanceof Superseded) break;
        state.error = error instanceof Error ? error.message : String(error);
        failures += 1;
        tellDown(1);
        note(state);
        this.logger.warn({ chat: chat.name, err: error }, 'the connection of a chat broke; will reconnect');
        await pause(pauseAfterMs(error, failures), signal);
      }
    }
    this.#status.delete(chat.name);
    // Whoever leads now says how it is.
    tellDown(0);
  }

  /** For `angelia doctor` and other replicas. Telegram is connected again with every poll, so only a change is written. */
  #noteAs(led: { readonly name: string; readonly epoch: number }): (note: ConnectionNote) => void {
    let noted: ConnectionNote | null = null;
    let writing: Promise<void> = Promise.resolve();
    return ({ connected, error }) => {
      const note = { connected, error };
      if (isDeepStrictEqual(note, noted)) return;
      noted = note;
      writing = writing.then(async () => {
        try {
          await noteLead(this.log, led, note);
        } catch (failed) {
          // It is recorded again with the next change, or by the next poll.
          if (noted === note) noted = null;
          this.logger.debug(
            { lead: led.name, err: failed },
            'the state of a chat connection was not recorded',
          );
        }
      });
    };
  }

  async #connect(
    chat: Chat,
    connection: ChatConnection,
    signal: AbortSignal,
    connected: () => void,
  ): Promise<void> {
    const stream = offsetStream(chat, connection.account(chat.settings));
    let known = await readOffset(this.log, stream);
    const { sessions, keyed, log, bus, pairings, told, inOrder, logger } = this.taking;
    const context = {
      ...{ sessions, keyed, log, bus, pairings, told, inOrder, logger },
      append: log.append.bind(log),
      instance: log.instance,
    };
    let read = known.offset;
    try {
      await connection.run({
        settings: chat.settings,
        signal,
        offset: known.offset,
        connected,
        tell: (what) => logger.warn({ chat: chat.name }, what),
        take: async (updates, offset) => {
          const inForce = this.config.settings.chats.get(chat.name);
          const current = inForce !== undefined && isSame(inForce, chat) ? inForce : chat;
          known = await takeBatch(context, current, updates, stream, known, offset);
          read = offset ?? read;
        },
      });
    } finally {
      // Best effort. If another process leads by now, it has already continued from there.
      await leaveOffset(context, stream, known, read).catch((error: unknown) =>
        logger.debug({ chat: chat.name, err: error }, 'the offset of a chat connection was not recorded'),
      );
    }
  }
}

const leadOf = ({ name }: Chat): string => `chat:${name}`;

/** `opensFiles` is made anew of every config, and no connection has to be opened again for it. */
const isSame = (one: Chat, other: Chat): boolean =>
  isDeepStrictEqual({ ...one, opensFiles: null }, { ...other, opensFiles: null });

const isConnected = ({ enabled, receive, platform }: Chat): boolean =>
  enabled && receive === 'connection' && platform.connection !== undefined;
