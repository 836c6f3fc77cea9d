import {
  Malformed,
  type PlatformAnswer,
  type PlatformRequest,
  type StandIn,
  startStandIn,
} from './stand-in.ts';
import { CannotParse, shownByTelegram } from './telegram-html.ts';
import { startTelegramInbox, type TelegramInbox } from './telegram-inbox.ts';
import { readKeyboard, type TelegramButtons } from './telegram-keyboard.ts';

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
  /** The rows of its inline keyboard. */
  buttons: TelegramButtons;
  edits: number;
}

/** What `sendChatAction` showed. */
export interface TelegramAction {
  readonly chatId: string;
  readonly threadId: number | null;
  readonly action: string;
}

/** What `sendDocument` took. */
export interface TelegramDocument {
  readonly id: number;
  readonly chatId: string;
  readonly threadId: number | null;
  readonly name: string;
  readonly type: string;
  readonly caption: string | null;
  readonly bytes: Buffer;
}

export interface TelegramStandIn extends StandIn {
  readonly documents: readonly TelegramDocument[];
  readonly messages: readonly TelegramMessage[];
  readonly actions: readonly TelegramAction[];
  /** Texts that people see in a chat, in order. */
  shownIn(chatId: string): string[];
  /** From now on any markup is answered with `can't parse entities`. */
  refuseMarkup(): void;
  /** The group with the first id became the supergroup with the second. */
  migrate(chatId: string, to: number): void;
  delete(messageId: number): void;
  /** Somebody's file, for a `document` of a message. Returns its `file_id`. */
  upload(content: string): string;
  /** What people write and click, and what the bot asks and registers about it. */
  readonly inbox: TelegramInbox;
}

const MOST_UNITS = 4_096;
const MOST_CAPTION = 1_024;
/** "Bots can currently send files of any type of up to 50 MB in size". */
const MOST_DOCUMENT_BYTES = 50 * 1024 * 1024;
/** Apart from the numbers of the other messages, which tests count on. */
const FIRST_DOCUMENT = 500_000;
const DOCUMENT_FIELDS = new Set([
  'chat_id',
  'message_thread_id',
  'caption',
  'disable_content_type_detection',
  'document',
]);
/** The parameters that our bot needs. */
const KEYS: Readonly<Record<string, ReadonlySet<string>>> = {
  sendMessage: new Set([
    'chat_id',
    'message_thread_id',
    'text',
    'parse_mode',
    'link_preview_options',
    'disable_notification',
    'reply_markup',
  ]),
  editMessageText: new Set([
    'chat_id',
    'message_id',
    'text',
    'parse_mode',
    'link_preview_options',
    'reply_markup',
  ]),
  getFile: new Set(['file_id']),
  sendChatAction: new Set(['chat_id', 'message_thread_id', 'action']),
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
  const actions: TelegramAction[] = [];
  const documents: TelegramDocument[] = [];
  const uploads = new Map<string, string>();
  const inbox = startTelegramInbox(Number(options.token.split(':', 1)[0]) || 1);
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

  function answer(request: PlatformRequest): PlatformAnswer | Promise<PlatformAnswer> {
    const [, owner, file] = /^\/file\/bot([^/]*)\/documents\/(.+)$/.exec(request.path) ?? [];
    if (file !== undefined && owner === options.token) {
      return { status: uploads.has(file) ? 200 : 404, body: uploads.get(file) ?? '' };
    }
    const [, token, method = ''] = /^\/bot([^/]*)\/(\w+)$/.exec(request.path) ?? [];
    if (token !== options.token)
      return error(token?.includes(':') ? 401 : 404, token?.includes(':') ? 'Unauthorized' : 'Not Found');
    if (method === 'getMe') return { status: 200, body: { ok: true, result: inbox.bot } };
    if (method === 'sendDocument') return sendDocument(request);
    const keys = KEYS[method] ?? inbox.keys[method];
    if (keys === undefined) return error(404, 'Not Found');
    // "We support GET and POST HTTP methods."
    if (request.method === 'GET' && keys.size === 0) return inbox.call(method, {});
    if (request.method !== 'POST' || !/^application\/json/.test(request.headers['content-type'] ?? '')) {
      throw new Malformed('a POST of JSON is wanted', badRequest('unsupported'));
    }
    const body = (request.body ?? {}) as Record<string, unknown>;
    for (const key of Object.keys(body)) {
      if (!keys.has(key)) throw new Malformed(`unknown parameter ${key}`, badRequest(key));
    }
    if (inbox.keys[method] !== undefined) return inbox.call(method, body);
    if (method === 'sendChatAction') return show(body);
    if (method === 'getFile') return getFile(body.file_id);
    return method === 'sendMessage' ? send(body) : edit(body);
  }

  function show(body: Record<string, unknown>): PlatformAnswer {
    const { chat_id: chat, message_thread_id: thread, action } = body;
    if (typeof chat !== 'string' && typeof chat !== 'number')
      throw new Malformed('chat_id', badRequest('chat_id is empty'));
    if (action !== 'typing') throw new Malformed('action', badRequest('wrong parameter action in request'));
    const refusal = placeRefusal(String(chat), thread);
    if (refusal) return refusal;
    actions.push({ chatId: String(chat), threadId: typeof thread === 'number' ? thread : null, action });
    return { status: 200, body: { ok: true, result: true } };
  }

  function getFile(id: unknown): PlatformAnswer {
    const content = uploads.get(String(id));
    if (content === undefined) return badRequest('invalid file_id');
    const result = {
      file_id: id,
      file_unique_id: id,
      file_size: content.length,
      file_path: `documents/${id}`,
    };
    return { status: 200, body: { ok: true, result } };
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
      buttons: readKeyboard(body.reply_markup, badRequest),
      edits: 0,
    };
    messages.push(message);
    return { status: 200, body: { ok: true, result: view(message) } };
  }

  async function sendDocument({ method, headers, bytes }: PlatformRequest): Promise<PlatformAnswer> {
    const type = headers['content-type'] ?? '';
    if (method !== 'POST' || !type.startsWith('multipart/form-data; boundary='))
      throw new Malformed('a POST of multipart/form-data is wanted', badRequest('unsupported'));
    const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } })
      .formData()
      .catch(() => {
        throw new Malformed('the form cannot be read', badRequest("can't parse form"));
      });
    for (const key of form.keys())
      if (!DOCUMENT_FIELDS.has(key)) throw new Malformed(`unknown parameter ${key}`, badRequest(key));
    const chat = form.get('chat_id');
    const thread = form.get('message_thread_id');
    const caption = form.get('caption');
    const file = form.get('document');
    if (typeof chat !== 'string' || chat === '')
      throw new Malformed('chat_id', badRequest('chat_id is empty'));
    if (thread !== null && !/^\d+$/.test(String(thread)))
      throw new Malformed('message_thread_id', badRequest('thread'));
    if (String(caption ?? '').length > MOST_CAPTION)
      throw new Malformed('caption', badRequest('message caption is too long'));
    const refusal = placeRefusal(chat, thread === null ? undefined : Number(thread));
    if (refusal) return refusal;
    if (file === null || typeof file === 'string')
      throw new Malformed('document', badRequest('there is no document in the request'));
    if (file.size === 0) throw new Malformed('empty', badRequest('file must be non-empty'));
    if (file.size > MOST_DOCUMENT_BYTES) return error(413, 'Request Entity Too Large');
    const document: TelegramDocument = {
      id: FIRST_DOCUMENT + documents.length,
      chatId: chat,
      threadId: thread === null ? null : Number(thread),
      name: file.name,
      type: file.type,
      caption: caption === null ? null : String(caption),
      bytes: Buffer.from(await file.arrayBuffer()),
    };
    documents.push(document);
    const { id: message_id, name: file_name } = document;
    const numbered = /^-?\d+$/.test(chat) ? Number(chat) : chat;
    const result = { message_id, chat: { id: numbered, type: 'supergroup' }, document: { file_name } };
    return { status: 200, body: { ok: true, result } };
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
    const buttons = readKeyboard(body.reply_markup, badRequest);
    if (message.text === read.text && JSON.stringify(message.buttons) === JSON.stringify(buttons)) {
      return badRequest(
        'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message',
      );
    }
    Object.assign(message, read, { buttons, edits: message.edits + 1 });
    return { status: 200, body: { ok: true, result: view(message) } };
  }

  const standIn = await startStandIn(
    { isMessage: ({ path }) => /\/(sendMessage|editMessageText|sendDocument)$/.test(path), answer },
    options.port,
  );
  return {
    ...standIn,
    stop: async () => {
      inbox.stop();
      await standIn.stop();
    },
    inbox,
    messages,
    documents,
    actions,
    shownIn: (chatId) => messages.filter((message) => message.chatId === chatId).map(({ shown }) => shown),
    refuseMarkup() {
      markupRefused = true;
    },
    migrate: (chatId, to) => void migrated.set(chatId, to),
    upload(content) {
      const id = `file-${uploads.size + 1}`;
      uploads.set(id, content);
      return id;
    },
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
