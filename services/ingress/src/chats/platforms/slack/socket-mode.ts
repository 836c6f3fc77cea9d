import { LogUnavailable } from '@angelia/event-log';
import { pause } from '@angelia/waiting';
import type { ChatUpdate, ConnectionContext } from '../../platform.ts';
import { ChatRefused } from '../chat-refused.ts';
import { openSocket, type PlatformSocket } from '../web-socket.ts';
import { callSlack, SlackRefused } from './api.ts';
import { readMissed } from './missed.ts';
import { readUpdate } from './updates.ts';

/**
 * Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode): Slack sends envelopes over a WebSocket. An envelope
 * is acknowledged only after what it brought is in the log. Slack sends it again otherwise, a few times within minutes, so
 * during an outage of the log we keep what we have and try again. Messages that Slack no longer sends are read from the
 * channels before new envelopes are taken. The offset is the newest message that was taken.
 *
 * Slack ends each connection after some hours and says so before. The next one is open before the old one closes, so for a
 * while there are two, and each envelope comes over one of them.
 */

/** Slack sends a ping every few seconds. */
const SILENT_MS = 60_000;
/** For `hello` after the connection is made. */
const HELLO_MS = 20_000;
/** Slack closes the old connection itself, about 10 s after its warning. */
const OLD_CONNECTION_MS = 30_000;
/** Envelopes that are made durable together. */
const BATCH = 100;
/** Envelopes in memory while the log is unreachable. Beyond, the connection is dropped, and Slack keeps its events. */
const MOST_WAITING = 5_000;
const LOG_RETRY_MS = 1_000;
const ONLY_A_PERSON_CAN_HELP: ReadonlySet<string> = new Set([
  'account_inactive',
  'forbidden_team',
  'invalid_auth',
  'missing_scope',
  'not_allowed_token_type',
  'not_authed',
  'token_revoked',
]);

interface Envelope {
  readonly update: ChatUpdate;
  /** Null: nobody waits for it. */
  readonly acknowledge: (() => void) | null;
}

export async function runSocketMode(context: ConnectionContext): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const over = Promise.withResolvers<void>();
  const fail = (error: unknown) => over.reject(error);
  const intake = new Intake({ ...context, signal }, fail);

  let current: PlatformSocket | null = null;
  let refreshing = false;

  async function connect(): Promise<void> {
    const opened = await open({ ...context, signal }, (message, socket) => {
      if (message.type === 'disconnect') onDisconnect(message.reason, socket);
      else intake.put(message, socket);
    });
    context.connected();
    const old = current;
    current = opened;
    if (old !== null) closeLater(old, signal);
    void opened.ended.then((why) => {
      if (opened === current && !refreshing) fail(new Error(`Slack, Socket Mode: ${why}`));
    });
  }

  function onDisconnect(reason: unknown, socket: PlatformSocket): void {
    if (reason === 'link_disabled') {
      fail(
        new Error(
          'Socket Mode is switched off in the settings of the Slack app. Switch it on, or receive by webhook',
        ),
      );
    } else if (reason !== 'warning' && reason !== 'refresh_requested') {
      fail(new Error(`Slack ended the connection of Socket Mode: ${String(reason).slice(0, 100)}`));
    } else if (socket === current && !refreshing) {
      refreshing = true;
      connect()
        .finally(() => {
          refreshing = false;
        })
        .catch(fail);
    }
  }

  async function begin(): Promise<void> {
    await connect();
    const { offset } = context;
    intake.open(offset === null ? [] : await readMissed({ ...context, signal }, offset));
  }

  const onAbort = () => over.resolve();
  context.signal.addEventListener('abort', onAbort, { once: true });
  if (context.signal.aborted) over.resolve();
  try {
    await Promise.race([begin(), over.promise]);
    await over.promise;
  } catch (error) {
    // An interruption by a stop is not a failure.
    if (!context.signal.aborted) throw error;
  } finally {
    context.signal.removeEventListener('abort', onAbort);
    stop.abort();
  }
}

/** Resolves when Slack has said `hello`. */
async function open(
  context: ConnectionContext,
  onMessage: (message: Readonly<Record<string, unknown>>, socket: PlatformSocket) => void,
): Promise<PlatformSocket> {
  const { settings, signal } = context;
  const { url } = await callSlack(
    'apps.connections.open',
    {},
    context,
    String(settings.chat.app_token),
  ).catch((error: unknown) => {
    throw error instanceof SlackRefused && ONLY_A_PERSON_CAN_HELP.has(error.error)
      ? new ChatRefused(`${error.message} (see app_token of the chat)`)
      : error;
  });
  const hello = Promise.withResolvers<void>();
  const socket = openSocket(String(url), {
    signal,
    silentMs: SILENT_MS,
    message(message, from) {
      if (message.type === 'hello') hello.resolve();
      else onMessage(message, from);
    },
  });
  const late = setTimeout(() => hello.reject(new Error('Slack did not say hello')), HELLO_MS);
  const ended = socket.ended.then((why) => {
    throw new Error(`Slack, Socket Mode: ${why}`);
  });
  try {
    await Promise.race([hello.promise, ended]);
    return socket;
  } catch (error) {
    socket.close();
    throw error;
  } finally {
    clearTimeout(late);
    ended.catch(() => {}); // later ends are the caller's
  }
}

function closeLater(socket: PlatformSocket, signal: AbortSignal): void {
  const timer = setTimeout(() => socket.close(), OLD_CONNECTION_MS);
  void socket.ended.then(() => clearTimeout(timer));
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
}

/** Takes envelopes in the order in which they came, those that came during the last append together. */
class Intake {
  readonly #context: ConnectionContext;
  readonly #fail: (error: unknown) => void;
  readonly #waiting: Envelope[] = [];
  /** What is older is read first. */
  #open = false;
  #working = false;
  #newest: string | null;

  constructor(context: ConnectionContext, fail: (error: unknown) => void) {
    this.#context = context;
    this.#fail = fail;
    this.#newest = context.offset;
  }

  open(missed: readonly ChatUpdate[]): void {
    this.#waiting.unshift(...missed.map((update) => ({ update, acknowledge: null })));
    this.#open = true;
    this.#wake();
  }

  put(message: Readonly<Record<string, unknown>>, socket: PlatformSocket): void {
    const { envelope_id: id, payload } = message;
    if (typeof id !== 'string') return;
    if (this.#waiting.length >= MOST_WAITING) {
      this.#fail(new Error(`more than ${MOST_WAITING} envelopes of Slack wait for the log`));
      return;
    }
    this.#waiting.push({
      update: readUpdate(payload, this.#context.settings, Date.now()),
      acknowledge: () => socket.send({ envelope_id: id }),
    });
    this.#wake();
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
    while (this.#waiting.length > 0 && !this.#context.signal.aborted) {
      const batch = this.#waiting.slice(0, BATCH);
      await this.#take(batch.map(({ update }) => update));
      this.#waiting.splice(0, batch.length);
      for (const { acknowledge } of batch) acknowledge?.();
    }
  }

  async #take(updates: readonly ChatUpdate[]): Promise<void> {
    const { take, signal } = this.#context;
    const times = updates.flatMap((update) =>
      update.kind === 'message' && isTime(update.message) ? update.message : [],
    );
    const newest = [...times, this.#newest ?? ''].toSorted().at(-1) ?? '';
    // Clicks and commands have no position among the messages.
    const offset = newest === (this.#newest ?? '') ? undefined : newest;
    for (;;) {
      try {
        await take(updates, offset);
        this.#newest = newest || null;
        return;
      } catch (error) {
        if (!(error instanceof LogUnavailable) || signal.aborted) throw error;
        await pause(LOG_RETRY_MS, signal);
      }
    }
  }
}

/** The id of a message is its time; that of a slash command is not. */
const isTime = (id: string): boolean => /^\d{10}\.\d{6}$/.test(id);
