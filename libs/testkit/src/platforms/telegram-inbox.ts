import { Malformed, type PlatformAnswer } from './stand-in.ts';

/** Whoever writes. */
export interface TelegramPerson {
  readonly id: number;
  readonly first_name?: string;
  readonly is_bot?: boolean;
}

interface Said {
  /** A number below zero is a group. */
  readonly chat: number;
  readonly from?: TelegramPerson;
  readonly text: string;
  /** A topic of the group. */
  readonly topic?: number;
  /** The id of the message that it replies to. */
  readonly replyTo?: number;
  readonly forwarded?: boolean;
  /** Further fields of the message, as Telegram names them. */
  readonly more?: Readonly<Record<string, unknown>>;
}

interface Clicked {
  readonly chat: number;
  readonly from?: TelegramPerson;
  readonly message: number;
  readonly data: string;
}

interface TelegramUpdate {
  readonly update_id: number;
  readonly [kind: string]: unknown;
}

export interface TelegramWebhook {
  readonly url: string;
  readonly secretToken: string | null;
}

/** The inbound half of the Bot API: https://core.telegram.org/bots/api#getting-updates */
export interface TelegramInbox {
  readonly bot: { readonly id: number; readonly is_bot: true; readonly username: string };
  /** The parameters of each method. */
  readonly keys: Readonly<Record<string, ReadonlySet<string>>>;
  call(method: string, body: Readonly<Record<string, unknown>>): PlatformAnswer | Promise<PlatformAnswer>;
  /** Somebody writes. Returns the update. */
  say(said: Said): TelegramUpdate;
  click(clicked: Clicked): TelegramUpdate;
  /** Any other update, such as `edited_message`. */
  push(update: Readonly<Record<string, unknown>>): TelegramUpdate;
  /** Sends an update again by the webhook, confirmed or not. Returns the status; null: no answer. */
  repeat(update: TelegramUpdate): Promise<number | null>;
  /** Those that the bot has not confirmed. */
  unconfirmed(): readonly TelegramUpdate[];
  webhook(): TelegramWebhook | null;
  readonly commands: readonly { readonly command: string; readonly description: string }[];
  /** Answers to clicks: `callback_query_id` -> text. */
  readonly acknowledged: Map<string, string>;
  /** How often the webhook was called. */
  attempts(): number;
  stop(): void;
}

const set = (...keys: string[]): ReadonlySet<string> => new Set(keys);
const KEYS: TelegramInbox['keys'] = {
  getUpdates: set('offset', 'limit', 'timeout', 'allowed_updates'),
  setWebhook: set('url', 'secret_token', 'allowed_updates', 'max_connections', 'drop_pending_updates'),
  deleteWebhook: set('drop_pending_updates'),
  getWebhookInfo: set(),
  setMyCommands: set('commands', 'scope', 'language_code'),
  answerCallbackQuery: set('callback_query_id', 'text', 'show_alert', 'url', 'cache_time'),
};
/** Messages of people have ids of their own, apart from those of the bot. */
const FIRST_MESSAGE = 1_000_000;
const DEFAULT_ALLOWED = ['message', 'edited_message', 'callback_query', 'channel_post'];
/** The real pauses grow to minutes. */
const RETRY_MS = 100;

const ok = (result: unknown): PlatformAnswer => ({ status: 200, body: { ok: true, result } });
const refused = (code: number, description: string): PlatformAnswer => ({
  status: code,
  body: { ok: false, error_code: code, description },
});
const malformed = (words: string): never => {
  throw new Malformed(words, refused(400, `Bad Request: ${words}`));
};

/**
 * It keeps an update until it is confirmed: by an answer 2xx of the webhook, or by a getUpdates with a higher offset. Until
 * then it brings it again. Per chat the webhook gets one update after the other.
 */
export function startTelegramInbox(botId: number): TelegramInbox {
  const stopping = new AbortController();
  const updates: TelegramUpdate[] = [];
  const commands: { command: string; description: string }[] = [];
  const acknowledged = new Map<string, string>();
  const clicks = new Set<string>();
  let nextUpdate = 700_000;
  let nextMessage = FIRST_MESSAGE;
  let webhook: TelegramWebhook | null = null;
  let allowed: readonly string[] = DEFAULT_ALLOWED;
  let attempts = 0;
  let lastError: { readonly last_error_date: number; readonly last_error_message: string } | null = null;
  /** The getUpdates that waits. Another one ends it. */
  let waiting: ((end: 'new' | 'conflict') => void) | null = null;
  const queues = new Map<string, Promise<void>>();

  const wanted = (update: TelegramUpdate) => allowed.some((kind) => update[kind] !== undefined);
  const confirm = (update: TelegramUpdate) => {
    const at = updates.indexOf(update);
    if (at >= 0) updates.splice(at, 1);
  };

  async function getUpdates(body: Readonly<Record<string, unknown>>): Promise<PlatformAnswer> {
    const { offset = 0, limit = 100, timeout = 0, allowed_updates: kinds } = body;
    if (![offset, limit, timeout].every(Number.isInteger)) malformed('parameters of getUpdates');
    if ((limit as number) < 1 || (limit as number) > 100) malformed('limit');
    if (kinds !== undefined) allowed = kinds as string[];
    if (webhook !== null) {
      return refused(
        409,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
      );
    }
    waiting?.('conflict');
    for (const update of updates.filter(({ update_id: id }) => id < (offset as number))) confirm(update);
    const found = () => updates.filter(wanted).slice(0, limit as number);
    if (found().length === 0 && (timeout as number) > 0) {
      const end = await new Promise<'new' | 'conflict' | 'timeout'>((resolve) => {
        const timer = setTimeout(() => resolve('timeout'), (timeout as number) * 1000);
        const mine = (why: 'new' | 'conflict') => {
          clearTimeout(timer);
          if (waiting === mine) waiting = null;
          resolve(why);
        };
        waiting = mine;
        stopping.signal.addEventListener('abort', () => mine('conflict'), { once: true });
      });
      if (end === 'conflict') {
        return refused(
          409,
          'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
        );
      }
    }
    return ok(found());
  }

  function call(method: string, body: Readonly<Record<string, unknown>>) {
    switch (method) {
      case 'getUpdates':
        return getUpdates(body);
      case 'setWebhook': {
        const { url, secret_token: secret, allowed_updates: kinds } = body;
        if (typeof url !== 'string' || !/^https?:\/\//.test(url)) malformed('bad webhook: invalid URL');
        if (secret !== undefined && !/^[A-Za-z0-9_-]{1,256}$/.test(String(secret)))
          malformed('secret token contains unallowed characters');
        if (kinds !== undefined) allowed = kinds as string[];
        webhook = { url: String(url), secretToken: secret === undefined ? null : String(secret) };
        for (const update of updates) enqueue(update);
        return ok(true);
      }
      case 'deleteWebhook':
        webhook = null;
        return ok(true);
      case 'getWebhookInfo':
        return ok({
          ...{ url: webhook?.url ?? '', has_custom_certificate: false, pending_update_count: updates.length },
          ...lastError,
        });
      case 'setMyCommands': {
        const given = body.commands as { command: string; description: string }[];
        if (!Array.isArray(given) || given.length > 100) malformed('commands');
        for (const { command, description } of given) {
          if (!/^[a-z0-9_]{1,32}$/.test(command)) malformed('BOT_COMMAND_INVALID');
          if (description.length < 1 || description.length > 256)
            malformed('BOT_COMMAND_DESCRIPTION_INVALID');
        }
        commands.splice(0, commands.length, ...given);
        return ok(true);
      }
      default: {
        const { callback_query_id: id, text = '' } = body;
        if (!clicks.has(String(id)))
          return refused(
            400,
            'Bad Request: query is too old and response timeout expired or query ID is invalid',
          );
        if (String(text).length > 200) malformed('MESSAGE_TOO_LONG');
        if (!String(text).isWellFormed()) malformed('strings must be encoded in UTF-8');
        acknowledged.set(String(id), String(text));
        return ok(true);
      }
    }
  }

  async function post(update: TelegramUpdate): Promise<number | null> {
    if (webhook === null) return null;
    attempts += 1;
    const { url, secretToken } = webhook;
    const headers = {
      'content-type': 'application/json',
      ...(secretToken === null ? {} : { 'x-telegram-bot-api-secret-token': secretToken }),
    };
    try {
      const body = JSON.stringify(update);
      const response = await fetch(url, { method: 'POST', headers, body, signal: stopping.signal });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return null;
    }
  }

  function enqueue(update: TelegramUpdate): void {
    if (webhook === null || !wanted(update)) {
      waiting?.('new');
      return;
    }
    const chat = chatOf(update);
    const before = queues.get(chat) ?? Promise.resolve();
    const mine = before.then(async () => {
      while (!stopping.signal.aborted && webhook !== null && updates.includes(update)) {
        const status = await post(update);
        if (status !== null && status >= 200 && status < 300) confirm(update);
        else {
          lastError = {
            last_error_date: Math.floor(Date.now() / 1000),
            last_error_message:
              status === null ? 'Connection refused' : `Wrong response from the webhook: ${status}`,
          };
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        }
      }
    });
    queues.set(chat, mine);
  }

  function push(update: Readonly<Record<string, unknown>>): TelegramUpdate {
    const numbered = { update_id: nextUpdate, ...update };
    nextUpdate += 1;
    updates.push(numbered);
    enqueue(numbered);
    return numbered;
  }

  const personOf = ({ id, first_name = `Person ${id}`, is_bot = false }: TelegramPerson) => ({
    ...{ id, first_name, is_bot },
  });
  const chatAt = (id: number, from: TelegramPerson) =>
    id < 0
      ? { id, type: 'supergroup', title: 'A group', is_forum: true }
      : { id, type: 'private', first_name: from.first_name ?? `Person ${from.id}` };

  return {
    bot: { id: botId, is_bot: true, username: 'stand_in_bot' },
    keys: KEYS,
    call,
    say({ chat, from = { id: Math.abs(chat) }, text, topic, replyTo, forwarded, more }) {
      const message_id = nextMessage;
      nextMessage += 1;
      const date = Math.floor(Date.now() / 1000);
      const [command] = /^\/\w+(?:@\w+)?/.exec(text) ?? [];
      const [mention] = /@\w+/.exec(command === undefined ? text : '') ?? [];
      const entities = [
        ...(command === undefined ? [] : [{ type: 'bot_command', offset: 0, length: command.length }]),
        ...(mention === undefined
          ? []
          : [{ type: 'mention', offset: text.indexOf(mention), length: mention.length }]),
      ];
      return push({
        message: {
          message_id,
          date,
          chat: chatAt(chat, from),
          from: personOf(from),
          text,
          ...(entities.length === 0 ? {} : { entities }),
          ...(topic === undefined ? {} : { message_thread_id: topic, is_topic_message: true }),
          ...(replyTo === undefined
            ? {}
            : {
                reply_to_message: {
                  message_id: replyTo,
                  date,
                  chat: chatAt(chat, from),
                  from: { id: botId, is_bot: true, first_name: 'Bot' },
                },
              }),
          ...(forwarded ? { forward_origin: { type: 'user', date, sender_user: personOf({ id: 99 }) } } : {}),
          ...more,
        },
      });
    },
    click({ chat, from = { id: Math.abs(chat) }, message, data }) {
      const id = String(nextUpdate * 1_000);
      clicks.add(id);
      return push({
        callback_query: {
          id,
          from: personOf(from),
          chat_instance: '1',
          data,
          message: { message_id: message, date: Math.floor(Date.now() / 1000), chat: chatAt(chat, from) },
        },
      });
    },
    push,
    repeat: post,
    unconfirmed: () => updates,
    webhook: () => webhook,
    commands,
    acknowledged,
    attempts: () => attempts,
    stop: () => stopping.abort(),
  };
}

function chatOf(update: TelegramUpdate): string {
  const { message, callback_query: click } = update as {
    message?: { chat: { id: number } };
    callback_query?: { message: { chat: { id: number } } };
  };
  return String((message ?? click?.message)?.chat.id);
}
