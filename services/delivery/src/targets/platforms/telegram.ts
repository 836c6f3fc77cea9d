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
import type {
  EditResult,
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

export function telegramTarget(): Target {
  const pool = connections();
  return {
    name: 'telegram',
    idempotent: false,
    // https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
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
      });
      const movedTo = migratedTo(called);
      // The group became a supergroup: the same chat with another number.
      const last =
        movedTo === null
          ? called
          : await withPlainFallback(pool, 'sendMessage', request, {
              chat_id: movedTo,
              ...threadOf(request.address),
            });
      return last.kind === 'answered' ? resultOf(last, request.settings, movedTo ?? String(chat_id)) : last;
    },

    async edit(request, receipt): Promise<EditResult> {
      const [, chat, message] = /^(.+)\/(\d+)$/.exec(receipt) ?? [];
      if (chat === undefined) return { kind: 'gone', reason: 'the receipt names no message' };
      const called = await withPlainFallback(pool, 'editMessageText', request, {
        chat_id: chat,
        message_id: Number(message),
      });
      if (called.kind !== 'answered') return called;
      // An earlier edit succeeded, and its answer was lost.
      if (called.status === 400 && /message is not modified/i.test(wordsOf(called))) {
        return { kind: 'taken', receipt };
      }
      const result = resultOf(called, request.settings, chat);
      return result.kind === 'permanent' ? { kind: 'gone', reason: result.reason } : result;
    },

    close: () => pool.destroy(),
  };
}

function threadOf({ to }: TargetAddress): { message_thread_id?: number } {
  const thread = to.message_thread_id ?? to.thread_id;
  return thread === undefined ? {} : { message_thread_id: Number(thread) };
}

/** Sends with markup, if there is any. If Telegram cannot parse it, sends plain text in the same attempt. */
async function withPlainFallback(
  pool: Agent,
  method: 'sendMessage' | 'editMessageText',
  request: SendRequest,
  to: Readonly<Record<string, unknown>>,
): Promise<CallResult> {
  const { chunk, markDuplicate } = request;
  const mark = markDuplicate ? DUPLICATE_MARK : '';
  const plain = { ...to, text: mark + (chunk.plain ?? chunk.text) };
  if (chunk.plain !== undefined && escapeHtml(chunk.plain) === chunk.text) {
    return await call(pool, method, request, plain);
  }
  const marked = await call(pool, method, request, { ...to, text: mark + chunk.text, parse_mode: 'HTML' });
  if (marked.kind !== 'answered' || marked.status !== 400) return marked;
  if (!/can't parse entities|unsupported (start|end) tag|entit(y|ies) .*invalid/i.test(wordsOf(marked)))
    return marked;
  return await call(pool, method, request, plain);
}

function call(
  pool: Agent,
  method: string,
  { settings, window }: SendRequest,
  body: Readonly<Record<string, unknown>>,
): Promise<CallResult> {
  return callHttp(
    pool,
    {
      method: 'POST',
      url: new URL(`${settings.api_base}/bot${inPath(settings.bot_token)}/${method}`),
      headers: { 'content-type': 'application/json' },
      // Telegram fetches a preview as soon as the message is there. A URL that a stranger made the agent write would leak
      // what it holds without a click.
      body: JSON.stringify({ ...body, link_preview_options: { is_disabled: true } }),
    },
    window,
  );
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
