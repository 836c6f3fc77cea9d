import {
  Malformed,
  type PlatformAnswer,
  type PlatformRequest,
  type StandIn,
  startStandIn,
} from './stand-in.ts';
import { CannotParse, shownByTelegram } from './telegram-html.ts';

export interface TelegramMessage {
  readonly id: number;
  /** When it was taken, as `performance.now()`. */
  readonly at: number;
  readonly chatId: string;
  readonly threadId: number | null;
  /** The text as it was sent. */
  text: string;
  /** The text that people see. */
  shown: string;
  parseMode: string | null;
  edits: number;
}

export interface TelegramStandIn extends StandIn {
  readonly messages: readonly TelegramMessage[];
  /** Texts that people see in a chat, in order. */
  shownIn(chatId: string): string[];
  /** From now on any markup is answered with `can't parse entities`. */
  refuseMarkup(): void;
  /** The group with the first id became the supergroup with the second. */
  migrate(chatId: string, to: number): void;
  delete(messageId: number): void;
}

const MOST_UNITS = 4_096;
/** The parameters of sendMessage and editMessageText that a bot without buttons needs. */
const KEYS: Readonly<Record<string, ReadonlySet<string>>> = {
  sendMessage: new Set([
    'chat_id',
    'message_thread_id',
    'text',
    'parse_mode',
    'link_preview_options',
    'disable_notification',
  ]),
  editMessageText: new Set(['chat_id', 'message_id', 'text', 'parse_mode', 'link_preview_options']),
};

/**
 * The message part of the Telegram Bot API (https://core.telegram.org/bots/api). Every chat exists except `404` (not found),
 * `403` (blocked the bot) and thread `404`.
 */
export async function startTelegram(options: {
  readonly token: string;
  readonly port?: number;
}): Promise<TelegramStandIn> {
  const messages: TelegramMessage[] = [];
  const migrated = new Map<string, number>();
  let markupRefused = false;
  const error = (
    code: number,
    description: string,
    parameters?: Record<string, unknown>,
  ): PlatformAnswer => ({
    status: code,
    body: { ok: false, error_code: code, description, ...(parameters ? { parameters } : {}) },
  });
  const badRequest = (words: string) => error(400, `Bad Request: ${words}`);

  function answer(request: PlatformRequest): PlatformAnswer {
    const [, token, method = ''] = /^\/bot([^/]*)\/(\w+)$/.exec(request.path) ?? [];
    if (token !== options.token)
      return error(token?.includes(':') ? 401 : 404, token?.includes(':') ? 'Unauthorized' : 'Not Found');
    if (method === 'getMe')
      return { status: 200, body: { ok: true, result: { id: 1, is_bot: true, username: 'stand_in_bot' } } };
    const keys = KEYS[method];
    if (keys === undefined) return error(404, 'Not Found');
    if (request.method !== 'POST' || !/^application\/json/.test(request.headers['content-type'] ?? '')) {
      throw new Malformed('a POST of JSON is wanted', badRequest('unsupported'));
    }
    const body = (request.body ?? {}) as Record<string, unknown>;
    for (const key of Object.keys(body)) {
      if (!keys.has(key)) throw new Malformed(`unknown parameter ${key}`, badRequest(key));
    }
    return method === 'sendMessage' ? send(body) : edit(body);
  }

  function textOf(body: Record<string, unknown>): { text: string; shown: string; parseMode: string | null } {
    const { text, parse_mode: parseMode } = body;
    if (typeof text !== 'string' || !text.isWellFormed())
      throw new Malformed('text', badRequest('strings must be encoded in UTF-8'));
    if (parseMode !== undefined && parseMode !== 'HTML')
      throw new Malformed('parse_mode', badRequest('unsupported parse_mode'));
    const shown = parseMode === 'HTML' ? shownByTelegram(text) : text;
    if (shown.trim() === '') throw new Malformed('empty', badRequest('message text is empty'));
    if (shown.length > MOST_UNITS)
      throw new Malformed(`${shown.length} units`, badRequest('message is too long'));
    if (/(?<!\w)@(everyone|all|admin)/.test(shown)) throw new Malformed('it pings', badRequest('mention'));
    return { text, shown, parseMode: parseMode ?? null };
  }

  function send(body: Record<string, unknown>): PlatformAnswer {
    const { chat_id: chat, message_thread_id: thread } = body;
    if (typeof chat !== 'string' && typeof chat !== 'number')
      throw new Malformed('chat_id', badRequest('chat_id is empty'));
    if (thread !== undefined && !Number.isInteger(thread))
      throw new Malformed('message_thread_id', badRequest('thread'));
    const refusal = placeRefusal(String(chat), thread);
    if (refusal) return refusal;
    const read = readable(body);
    if ('status' in read) return read;
    const message: TelegramMessage = {
      id: messages.length + 1,
      at: performance.now(),
      chatId: String(chat),
      threadId: typeof thread === 'number' ? thread : null,
      ...read,
      edits: 0,
    };
    messages.push(message);
    return { status: 200, body: { ok: true, result: view(message) } };
  }

  function placeRefusal(chat: string, thread: unknown): PlatformAnswer | null {
    if (chat === '404') return badRequest('chat not found');
    if (chat === '403') return error(403, 'Forbidden: bot was blocked by the user');
    if (thread === 404) return badRequest('message thread not found');
    const to = migrated.get(chat);
    if (to === undefined) return null;
    return error(400, 'Bad Request: group chat was upgraded to a supergroup chat', {
      migrate_to_chat_id: to,
    });
  }

  function readable(body: Record<string, unknown>): ReturnType<typeof textOf> | PlatformAnswer {
    if (markupRefused && body.parse_mode !== undefined) {
      return badRequest(`can't parse entities: Unsupported start tag "x" at byte offset 0`);
    }
    try {
      return textOf(body);
    } catch (problem) {
      if (problem instanceof CannotParse) throw new Malformed(problem.message, badRequest(problem.message));
      throw problem;
    }
  }

  function edit(body: Record<string, unknown>): PlatformAnswer {
    const message = messages.find(
      ({ id, chatId }) => id === body.message_id && chatId === String(body.chat_id),
    );
    if (message === undefined) return badRequest('message to edit not found');
    const read = readable(body);
    if ('status' in read) return read;
    if (message.text === read.text) {
      return badRequest(
        'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message',
      );
    }
    Object.assign(message, read, { edits: message.edits + 1 });
    return { status: 200, body: { ok: true, result: view(message) } };
  }

  const standIn = await startStandIn(
    { isMessage: ({ path }) => !path.endsWith('/getMe'), answer },
    options.port,
  );
  return {
    ...standIn,
    messages,
    shownIn: (chatId) => messages.filter((message) => message.chatId === chatId).map(({ shown }) => shown),
    refuseMarkup() {
      markupRefused = true;
    },
    migrate: (chatId, to) => void migrated.set(chatId, to),
    delete(messageId) {
      messages.splice(
        messages.findIndex(({ id }) => id === messageId),
        1,
      );
    },
  };
}

function view({ id, chatId, threadId, shown }: TelegramMessage): unknown {
  const chat = /^-?\d+$/.test(chatId) ? Number(chatId) : chatId;
  return {
    message_id: id,
    date: Math.floor(Date.now() / 1000),
    chat: { id: chat, type: 'supergroup' },
    ...(threadId === null ? {} : { message_thread_id: threadId, is_topic_message: true }),
    text: shown,
  };
}
