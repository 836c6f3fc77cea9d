import type { Agent } from 'undici';
import { DUPLICATE_MARK } from '../../text/cut/chunk.ts';
import { renderChunks } from '../../text/cut/render-chunks.ts';
import { utf16Units } from '../../text/markup/markup.ts';
import { escapeHtml, telegramHtml } from '../../text/markup/telegram-html.ts';
import {
  type Answered,
  apiOrigin,
  inOneLine,
  isTaken,
  objectIn,
  reasonOf,
  retryAfterOf,
} from '../calls/api-answer.ts';
import { type CallResult, callHttp, connections } from '../calls/http-call.ts';
import { multipart } from '../calls/multipart.ts';
import type {
  EditResult,
  MessageButton,
  OutboundFile,
  SendRequest,
  SendResult,
  Target,
  TargetAddress,
  TargetSettings,
} from '../target.ts';

/**
 * Messages by the Telegram Bot API (https://core.telegram.org/bots/api). It has no idempotency and no history, so a message
 * whose outcome is unknown is resent with a mark.
 */

/** "1-4096 characters after entities parsing", in UTF-16 units. We count with the markup, which is never shorter. */
const MAX_UNITS = 4_096;

/** A keyboard may have 100 buttons. More than a handful would hide the conversation on a phone. */
const MOST_BUTTONS = 8;
/** A label has no limit, but a phone shows about this much of it in a row of its own. */
const LABEL_LENGTH = 40;
/** What fits into one row of a phone, in characters and in buttons. */
const ROW_LENGTH = 32;
const MOST_IN_ROW = 3;

export function telegramTarget(): Target {
  const pool = connections();
  return {
    name: 'telegram',
    idempotent: false,
    // https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
    buttons: { most: MOST_BUTTONS, labelLength: LABEL_LENGTH },
    limits: { perChat: { sends: 1, seconds: 1 }, overall: { sends: 30, seconds: 1 } },

    destination: (address, settings) => ({
      name: `telegram ${apiOrigin(settings)}`,
      chat: String(address.to.chat_id),
    }),

    compose: ({ text }) => renderChunks(text, telegramHtml, { limit: MAX_UNITS, measure: utf16Units }),

    async send(request) {
      const { chat_id } = request.address.to;
      const called = await withPlainFallback(pool, 'sendMessage', request, {
        chat_id,
        ...threadOf(request.address),
        ...keyboardOf(request),
      });
      const movedTo = migratedTo(called);
      // The group became a supergroup: the same chat with another number.
      const last =
        movedTo === null
          ? called
          : await withPlainFallback(pool, 'sendMessage', request, {
              chat_id: movedTo,
              ...threadOf(request.address),
              ...keyboardOf(request),
            });
      return last.kind === 'answered' ? resultOf(last, request.settings, movedTo ?? String(chat_id)) : last;
    },

    async sendFile(request, file) {
      const { chat_id } = request.address.to;
      const called = await callWithFile(pool, request, String(chat_id), file);
      const movedTo = migratedTo(called);
      const last = movedTo === null ? called : await callWithFile(pool, request, movedTo, file);
      return last.kind === 'answered' ? resultOf(last, request.settings, movedTo ?? String(chat_id)) : last;
    },

    async edit(request, receipt): Promise<EditResult> {
      const { chat, message } = readReceipt(receipt);
      if (chat === undefined) return { kind: 'gone', reason: 'the receipt names no message' };
      const called = await withPlainFallback(pool, 'editMessageText', request, {
        chat_id: chat,
        message_id: Number(message),
        // Without one, Telegram takes the buttons away.
        ...keyboardOf(request),
      });
      if (called.kind !== 'answered') return called;
      // An earlier edit succeeded, and its answer was lost.
      if (called.status === 400 && /message is not modified/i.test(wordsOf(called))) {
        return { kind: 'taken', receipt };
      }
      const result = resultOf(called, request.settings, chat);
      return result.kind === 'permanent' ? { kind: 'gone', reason: result.reason } : result;
    },

    placeOf(receipt, address) {
      const { chat, message } = readReceipt(receipt);
      if (chat === undefined || message === undefined) return null;
      const { message_thread_id: thread } = threadOf(address);
      return {
        platform: 'telegram',
        chat,
        thread: thread === undefined ? null : String(thread),
        message,
      };
    },

    async typing({ address, settings, window }) {
      const { chat_id } = address.to;
      const body = { chat_id, ...threadOf(address), action: 'typing' };
      const called = await call(pool, 'sendChatAction', { settings, window }, body);
      if (called.kind !== 'answered' || !isTaken(called))
        throw new Error('Telegram did not take the chat action');
    },

    close: () => pool.destroy(),
  };
}

/** See receiptIn. */
function readReceipt(receipt: string): { readonly chat?: string; readonly message?: string } {
  const [, chat, message] = /^(.+)\/(\d+)$/.exec(receipt) ?? [];
  return chat === undefined || message === undefined ? {} : { chat, message };
}

/** The buttons belong to the last message of a long text. */
function keyboardOf({ message, index, count }: SendRequest): { reply_markup?: unknown } {
  const { buttons = [] } = message;
  if (buttons.length === 0 || index + 1 < count) return {};
  return { reply_markup: { inline_keyboard: rowsOf(buttons) } };
}

function rowsOf(buttons: readonly MessageButton[]): { text: string; callback_data: string }[][] {
  const rows: { text: string; callback_data: string }[][] = [];
  let length = 0;
  for (const { label, data } of buttons) {
    const row = rows.at(-1);
    const button = { text: label, callback_data: data };
    if (row !== undefined && row.length < MOST_IN_ROW && length + label.length <= ROW_LENGTH) {
      row.push(button);
      length += label.length;
    } else {
      rows.push([button]);
      length = label.length;
    }
  }
  return rows;
}

function threadOf({ to }: TargetAddress): { message_thread_id?: number } {
  const thread = to.message_thread_id ?? to.thread_id;
  return thread === undefined ? {} : { message_thread_id: Number(thread) };
}

/**
 * Telegram fetches a preview as soon as the message is there. A URL that a stranger made the agent write would leak what it
 * holds without a click.
 */
const NO_PREVIEW = { link_preview_options: { is_disabled: true } } as const;

/** Sends with markup, if there is any. If Telegram cannot parse it, sends plain text in the same attempt. */
async function withPlainFallback(
  pool: Agent,
  method: 'sendMessage' | 'editMessageText',
  request: SendRequest,
  to: Readonly<Record<string, unknown>>,
): Promise<CallResult> {
  const { chunk, markDuplicate } = request;
  const mark = markDuplicate ? DUPLICATE_MARK : '';
  const plain = { ...to, ...NO_PREVIEW, text: mark + (chunk.plain ?? chunk.text) };
  if (chunk.plain !== undefined && escapeHtml(chunk.plain) === chunk.text) {
    return await call(pool, method, request, plain);
  }
  const html = { ...to, ...NO_PREVIEW, text: mark + chunk.text, parse_mode: 'HTML' };
  const marked = await call(pool, method, request, html);
  if (marked.kind !== 'answered' || marked.status !== 400) return marked;
  if (!/can't parse entities|unsupported (start|end) tag|entit(y|ies) .*invalid/i.test(wordsOf(marked)))
    return marked;
  return await call(pool, method, request, plain);
}

function call(
  pool: Agent,
  method: string,
  { settings, window }: Pick<SendRequest, 'settings' | 'window'>,
  body: Readonly<Record<string, unknown>>,
): Promise<CallResult> {
  return callHttp(
    pool,
    {
      method: 'POST',
      url: urlOf(method, settings),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    },
    window,
  );
}

/**
 * Always as a document: as a photo, Telegram would scale an image down and refuse some (its sides, its size). Nothing is made
 * of its content, such as an animation of a GIF.
 */
function callWithFile(
  pool: Agent,
  { settings, window, address, markDuplicate }: SendRequest,
  chat: string,
  { name, type, bytes }: OutboundFile,
): Promise<CallResult> {
  const fields = {
    chat_id: chat,
    ...threadOf(address),
    ...(markDuplicate ? { caption: DUPLICATE_MARK.trim() } : {}),
    disable_content_type_detection: true,
  };
  const { contentType, body } = multipart(fields, { field: 'document', name, type, bytes });
  return callHttp(
    pool,
    { method: 'POST', url: urlOf('sendDocument', settings), headers: { 'content-type': contentType }, body },
    window,
  );
}

function urlOf(method: string, settings: TargetSettings): URL {
  return new URL(`${settings.api_base}/bot${inPath(settings.bot_token)}/${method}`);
}

/** The token stays one segment of the path, whatever it contains. It has a colon, which is allowed there. */
function inPath(token: unknown): string {
  return encodeURIComponent(String(token)).replaceAll('%3A', ':');
}

function resultOf(answer: Answered, settings: TargetSettings, chat: string): SendResult {
  const { status } = answer;
  const said = objectIn(answer);
  // A refusal shows in the status and in `ok`.
  if (isTaken(answer) && said?.ok !== false) return { kind: 'taken', receipt: receiptIn(said, chat) };
  const reason = reasonOf(status, apiOrigin(settings), wordsOf(answer));
  if (status === 429) {
    return { kind: 'retryable', reason, retryAfterSeconds: floodWaitOf(answer), scope: 'chat' };
  }
  // An unknown token is "Not Found".
  if (status === 401 || status === 404) {
    return { kind: 'retryable', reason: `${reason} (targets.telegram.bot_token was refused)` };
  }
  // Its server may have taken it. 502 is what Telegram says while it is down: treated as unknown, an outage would end
  // every answer after two attempts.
  if (status === 504) return { kind: 'unknown', reason };
  if (status >= 500 || status === 408) {
    const seconds = retryAfterOf(answer.headers);
    return { kind: 'retryable', reason, ...(seconds === null ? {} : { retryAfterSeconds: seconds }) };
  }
  return { kind: 'permanent', reason };
}

/** For a rate limit without a time: Telegram's limits are per second. */
const DEFAULT_FLOOD_SECONDS = 5;

function floodWaitOf(answer: Answered): number {
  const { retry_after: seconds } = parametersOf(answer);
  if (typeof seconds === 'number' && seconds >= 0) return seconds;
  return retryAfterOf(answer.headers) ?? DEFAULT_FLOOD_SECONDS;
}

function migratedTo(called: CallResult): string | null {
  if (called.kind !== 'answered' || called.status !== 400) return null;
  const { migrate_to_chat_id: chat } = parametersOf(called);
  return typeof chat === 'number' || typeof chat === 'string' ? String(chat) : null;
}

function parametersOf(answer: Answered): Readonly<Record<string, unknown>> {
  const parameters = objectIn(answer)?.parameters;
  return typeof parameters === 'object' && parameters !== null ? { ...parameters } : {};
}

function wordsOf(answer: Answered): string {
  return inOneLine(objectIn(answer)?.description);
}

/** `<chat>/<message>`, as Telegram numbers them. If it does not name the chat, the one that the message was sent to. */
function receiptIn(said: Readonly<Record<string, unknown>> | null, sentTo: string): string | null {
  const result = said?.result as { message_id?: unknown; chat?: { id?: unknown } } | undefined;
  const chat = result?.chat?.id;
  if (typeof result?.message_id !== 'number') return null;
  return `${typeof chat === 'number' || typeof chat === 'string' ? chat : sentTo}/${result.message_id}`;
}
