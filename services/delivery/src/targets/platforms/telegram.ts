import type { Agent } from 'undici';
import { DUPLICATE_MARK } from '../../text/cut/chunk.ts';
import { renderChunks } from '../../text/cut/render-chunks.ts';
import { utf16Units } from '../../text/markup/markup.ts';
import { escapeHtml, telegramHtml } from '../../text/markup/telegram-html.ts';
import { type Answered, inOneLine, isTaken, objectIn, reasonOf, retryAfterOf } from '../calls/api-answer.ts';
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
 * Messages by the Telegram Bot API (https://core.telegram.org/bots/api). It has no idempotency and shows no history:
 * a message whose outcome is unknown is resent with a mark.
 */

/** "1-4096 characters after entities parsing", UTF-16 units. Counted with its markup, which is never shorter. */
const MAX_UNITS = 4_096;

export function telegramTarget(): Target {
  const pool = connections();
  return {
    name: 'telegram',
    idempotent: false,
    // https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
    limits: { perChat: { sends: 1, seconds: 1 }, overall: { sends: 30, seconds: 1 } },
    checkSettings: () => [],

    destination: (address, settings) => ({
      name: `telegram ${originOf(settings)}`,
      chat: String(address.to.chat_id),
    }),

    compose: ({ text }) => renderChunks(text, telegramHtml, { limit: MAX_UNITS, measure: utf16Units }),

    async send(request) {
      const { chat_id } = request.address.to;
      const called = await inSomeMarkup(pool, 'sendMessage', request, {
        chat_id,
        ...threadOf(request.address),
      });
      const movedTo = migratedTo(called);
      // The group became a supergroup: it is the same chat under another number.
      const last =
        movedTo === null
          ? called
          : await inSomeMarkup(pool, 'sendMessage', request, {
              chat_id: movedTo,
              ...threadOf(request.address),
            });
      return last.kind === 'answered' ? resultOf(last, request.settings, movedTo ?? String(chat_id)) : last;
    },

    async edit(request, receipt): Promise<EditResult> {
      const [, chat, message] = /^(.+)\/(\d+)$/.exec(receipt) ?? [];
      if (chat === undefined) return { kind: 'gone', reason: 'the receipt names no message' };
      const called = await inSomeMarkup(pool, 'editMessageText', request, {
        chat_id: chat,
        message_id: Number(message),
      });
      if (called.kind !== 'answered') return called;
      // The edit before, whose answer did not come, was done.
      if (called.status === 400 && /message is not modified/i.test(wordsOf(called))) {
        return { kind: 'taken', receipt };
      }
      const result = resultOf(called, request.settings, chat);
      return result.kind === 'permanent' ? { kind: 'gone', reason: result.reason } : result;
    },

    close: () => pool.destroy(),
  };
}

function originOf(settings: TargetSettings): string {
  return new URL(String(settings.api_base)).origin;
}

function threadOf({ to }: TargetAddress): { message_thread_id?: number } {
  const thread = to.message_thread_id ?? to.thread_id;
  return thread === undefined ? {} : { message_thread_id: Number(thread) };
}

/** With markup, where there is any; when Telegram cannot read that, without, in the same attempt. */
async function inSomeMarkup(
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
      // A preview is fetched by Telegram as soon as the message is there: an address that a stranger made the agent
      // write would carry off what it holds without a click.
      body: JSON.stringify({ ...body, link_preview_options: { is_disabled: true } }),
    },
    window,
  );
}

/** Whatever it is, it stays one part of the path. A token has a colon, which is good there. */
function inPath(token: unknown): string {
  return encodeURIComponent(String(token)).replaceAll('%3A', ':');
}

function resultOf(answer: Answered, settings: TargetSettings, chat: string): SendResult {
  const { status } = answer;
  const said = objectIn(answer);
  // Who means no says so, by the status and by `ok`.
  if (isTaken(answer) && said?.ok !== false) return { kind: 'taken', receipt: receiptIn(said, chat) };
  const reason = reasonOf(status, originOf(settings), wordsOf(answer));
  if (status === 429) {
    return { kind: 'retryable', reason, retryAfterSeconds: floodWaitOf(answer), scope: 'chat' };
  }
  // An unknown token is "Not Found".
  if (status === 401 || status === 404) {
    return { kind: 'retryable', reason: `${reason} (targets.telegram.bot_token was refused)` };
  }
  // Its server may have it. 502 is what Telegram says while it is down: taken for this, an outage would be the end of
  // every answer after two attempts.
  if (status === 504) return { kind: 'unknown', reason };
  if (status >= 500 || status === 408) {
    const seconds = retryAfterOf(answer.headers);
    return { kind: 'retryable', reason, ...(seconds === null ? {} : { retryAfterSeconds: seconds }) };
  }
  return { kind: 'permanent', reason };
}

/** A flood without a word of how long: Telegram's limits are per second. */
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

/** `<chat>/<message>`, as Telegram numbers them; where it does not name the chat, the one that it was sent to. */
function receiptIn(said: Readonly<Record<string, unknown>> | null, sentTo: string): string | null {
  const result = said?.result as { message_id?: unknown; chat?: { id?: unknown } } | undefined;
  const chat = result?.chat?.id;
  if (typeof result?.message_id !== 'number') return null;
  return `${typeof chat === 'number' || typeof chat === 'string' ? chat : sentTo}/${result.message_id}`;
}
