import type { Agent } from 'undici';
import { DUPLICATE_MARK } from '../../text/cut/chunk.ts';
import { renderChunks } from '../../text/cut/render-chunks.ts';
import { utf16Units } from '../../text/markup/markup.ts';
import { slackMrkdwn } from '../../text/markup/slack-mrkdwn.ts';
import {
  type Answered,
  apiOrigin,
  inOneLine,
  isGatewayError,
  notLookedUp,
  objectIn,
  reasonOf,
  retryAfterOf,
} from '../calls/api-answer.ts';
import { type CallResult, callHttp, connections } from '../calls/http-call.ts';
import type {
  EditResult,
  LookUpResult,
  MessageButton,
  OutboundFile,
  SendRequest,
  SendResult,
  Target,
  TargetSettings,
} from '../target.ts';

/**
 * Messages by Slack's Web API (https://docs.slack.dev/reference/methods/chat.postMessage). The API has no idempotency, so each
 * message carries its key as metadata, and a resend first looks for it in the channel or the thread.
 */

/** https://docs.slack.dev/reference/block-kit/blocks/section-block: "maximum length for the text is 3000 characters". */
const MAX_CHARACTERS = 3_000;
/** https://docs.slack.dev/reference/block-kit/blocks/actions-block: "a maximum of 25 elements in each action block". */
const MOST_BUTTONS = 25;
/** https://docs.slack.dev/reference/block-kit/block-elements/button-element: of the text. The value may have 2,000. */
const LABEL_LENGTH = 75;
const EVENT_TYPE = 'angelia_output';
/** One look-up reads the messages since the answer was recorded. A channel with more in that time is a flood. */
const LOOK_UP_PAGES = 5;
const LOOK_UP_PAGE_SIZE = 200;
const MAX_LOOK_UP_BYTES = 8 * 1024 * 1024;
/** How much our database's clock and Slack's may differ. */
const CLOCK_SLACK_MS = 10 * 60_000;
/** For a rate limit without a time. */
const DEFAULT_FLOOD_SECONDS = 30;

/** An operator can fix these at the app or the token: https://docs.slack.dev/reference/methods/chat.postMessage#errors. */
const CREDENTIAL_REFUSED: ReadonlySet<string> = new Set([
  'access_denied',
  'account_inactive',
  'invalid_auth',
  'missing_scope',
  'no_permission',
  'not_allowed_token_type',
  'not_authed',
  'org_login_required',
  'token_expired',
  'token_revoked',
]);
const TEMPORARY: ReadonlySet<string> = new Set([
  'accesslimited',
  'message_limit_exceeded',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
]);
const RATE_LIMITED: ReadonlySet<string> = new Set(['ratelimited', 'rate_limited']);
/** "It's possible some aspect of the operation succeeded before the error was raised." */
const MAYBE_DONE: ReadonlySet<string> = new Set(['fatal_error', 'internal_error']);
/** Slack refused the blocks. It checks plain text less strictly. */
const MARKUP_REFUSED: ReadonlySet<string> = new Set([
  'block_mismatch',
  'invalid_blocks',
  'invalid_blocks_format',
  'msg_blocks_too_long',
]);

export function slackTarget(): Target {
  const pool = connections();
  return {
    name: 'slack',
    idempotent: false,
    // "1 per second per channel"; a whole workspace takes "several hundred messages per minute".
    limits: { perChat: { sends: 1, seconds: 1 } },
    // There is no `typing`: Slack shows it for assistants only (`assistant.threads.setStatus`).
    buttons: { most: MOST_BUTTONS, labelLength: LABEL_LENGTH },

    destination: (address, settings) => ({
      name: `slack ${apiOrigin(settings)}`,
      chat: String(address.to.channel),
    }),

    compose: ({ text }) => renderChunks(text, slackMrkdwn, { limit: MAX_CHARACTERS, measure: utf16Units }),

    async send(request) {
      const { channel, thread_ts } = request.address.to;
      const called = await withPlainFallback(pool, 'chat.postMessage', request, {
        channel,
        ...(thread_ts === undefined ? {} : { thread_ts }),
        // Slack fetches previews unasked: that would leak what a URL holds without a click.
        unfurl_links: false,
        unfurl_media: false,
      });
      return called.kind === 'answered' ? resultOf(called, request.settings, channel) : called;
    },

    sendFile: (request, file) => sendFile(pool, request, file),

    async edit(request, receipt): Promise<EditResult> {
      const [channel, ts] = readReceipt(receipt);
      if (channel === undefined) return { kind: 'gone', reason: 'the receipt names no message' };
      const called = await withPlainFallback(pool, 'chat.update', request, { channel, ts });
      if (called.kind !== 'answered') return called;
      const result = resultOf(called, request.settings, channel);
      return result.kind === 'permanent' ? { kind: 'gone', reason: result.reason } : result;
    },

    placeOf(receipt, { to }) {
      const [chat, message] = readReceipt(receipt);
      if (chat === undefined || message === undefined) return null;
      // Replies to a message outside of threads stand in a thread that is named after it.
      return { platform: 'slack', chat, thread: String(to.thread_ts ?? message), message };
    },

    lookUp: (request) => lookUp(pool, request),
    close: () => pool.destroy(),
  };
}

/**
 * https://docs.slack.dev/messaging/working-with-files: an address for the upload, the upload, and the message. Nobody sees
 * anything before the last call, so only that one can make a second copy; a file without it is discarded. Slack makes the
 * message later and does not say where it stands, so there is no receipt.
 */
async function sendFile(pool: Agent, request: SendRequest, file: OutboundFile): Promise<SendResult> {
  const { settings, window, markDuplicate, address, chunk } = request;
  const { channel, thread_ts } = address.to;
  const asked = await callHttp(
    pool,
    {
      method: 'POST',
      url: new URL(`${settings.api_base}/files.getUploadURLExternal`),
      headers: {
        authorization: `Bearer ${settings.bot_token}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ filename: file.name, length: String(file.bytes.length) }).toString(),
      safe: true,
    },
    window,
  );
  if (asked.kind !== 'answered') return asked;
  const place = objectIn(asked);
  const { upload_url: url, file_id: id } = place ?? {};
  if (place?.ok !== true || typeof url !== 'string' || typeof id !== 'string') {
    return notUploaded(resultOf(asked, settings, channel), asked.status);
  }
  const uploaded = await callHttp(
    pool,
    // The address is the credential. The token stays with the API.
    {
      method: 'POST',
      url: new URL(url),
      headers: { 'content-type': file.type },
      body: file.bytes,
      safe: true,
    },
    window,
  );
  if (uploaded.kind !== 'answered') return uploaded;
  if (uploaded.status !== 200)
    return { kind: 'retryable', reason: `the upload was answered with ${uploaded.status}` };
  const shared = await call(pool, 'files.completeUploadExternal', request, {
    files: [{ id, title: chunk.file?.path ?? file.name }],
    channel_id: channel,
    ...(thread_ts === undefined ? {} : { thread_ts }),
    ...(markDuplicate ? { initial_comment: DUPLICATE_MARK.trim() } : {}),
  });
  if (shared.kind !== 'answered') return shared;
  const result = resultOf(shared, settings, channel);
  return result.kind === 'taken' ? { kind: 'taken', receipt: null } : result;
}

/** Nothing was shared yet, so nothing is unknown. */
function notUploaded(result: SendResult, status: number): SendResult {
  if (result.kind === 'permanent' || result.kind === 'retryable') return result;
  const reason = result.kind === 'unknown' ? result.reason : `answered with ${status} and without an address`;
  return { kind: 'retryable', reason: `not uploaded: ${reason}` };
}

/** Sends a block. If Slack refuses it, sends plain text in the same attempt. */
async function withPlainFallback(
  pool: Agent,
  method: 'chat.postMessage' | 'chat.update',
  request: SendRequest,
  to: Readonly<Record<string, unknown>>,
): Promise<CallResult> {
  const { chunk, markDuplicate, idempotencyKey } = request;
  const mark = markDuplicate ? DUPLICATE_MARK : '';
  const text = mark + chunk.text;
  const actions = actionsOf(request);
  const common = {
    ...to,
    // `@channel` in the text pings nobody. (By default, chat.update would look for names.)
    parse: 'none',
    link_names: false,
    metadata: { event_type: EVENT_TYPE, event_payload: { key: idempotencyKey } },
  };
  const marked = await call(pool, method, request, {
    ...common,
    // For notifications and screen readers.
    text,
    // `verbatim`: the block does not look for names either. `expand`: shown whole, without a click.
    blocks: [{ type: 'section', text: { type: 'mrkdwn', text, verbatim: true }, expand: true }, ...actions],
  });
  if (marked.kind !== 'answered' || !MARKUP_REFUSED.has(errorOf(marked))) return marked;
  const plain = mark + (chunk.plain ?? chunk.text);
  if (actions.length === 0)
    return await call(pool, method, request, { ...common, text: plain, mrkdwn: false });
  // Beside blocks, the text is not shown in the channel. Without its buttons, a question could not be answered.
  const section = { type: 'section', text: { type: 'plain_text', text: unescaped(plain) } };
  return await call(pool, method, request, { ...common, text: plain, blocks: [section, ...actions] });
}

/** The buttons belong to the last message of a long text. A message that is edited without them has none any more. */
function actionsOf({ message, index, count }: SendRequest): readonly unknown[] {
  const { buttons = [] } = message;
  if (buttons.length === 0 || index + 1 < count) return [];
  return [{ type: 'actions', elements: buttons.slice(0, MOST_BUTTONS).map(buttonElement) }];
}

function buttonElement({ label, data, style }: MessageButton, index: number): unknown {
  return {
    type: 'button',
    // Unique in its block.
    action_id: `angelia-${index}`,
    text: { type: 'plain_text', text: label, emoji: false },
    value: data,
    ...(style === undefined ? {} : { style }),
  };
}

/** `plain_text` shows what it is given. */
function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
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
      url: new URL(`${settings.api_base}/${method}`),
      headers: {
        authorization: `Bearer ${settings.bot_token}`,
        // Slack warns about JSON without a charset.
        'content-type': 'application/json; charset=utf-8',
      },
      body: JSON.stringify(body),
    },
    window,
  );
}

function resultOf(answer: Answered, settings: TargetSettings, channel: unknown): SendResult {
  const { status } = answer;
  const said = objectIn(answer);
  const error = errorOf(answer);
  if (status === 200 && said?.ok === true) return { kind: 'taken', receipt: receiptIn({ channel, ...said }) };
  const reason = reasonOf(
    status,
    apiOrigin(settings),
    detailOf(said) || (status === 200 ? 'unreadable answer' : ''),
  );
  const seconds = retryAfterOf(answer.headers);
  if (status === 429 || RATE_LIMITED.has(error)) {
    return { kind: 'retryable', reason, retryAfterSeconds: seconds ?? DEFAULT_FLOOD_SECONDS, scope: 'chat' };
  }
  if (CREDENTIAL_REFUSED.has(error) || status === 401 || status === 403) {
    return { kind: 'retryable', reason: `${reason} (see targets.slack.bot_token and the scopes of its app)` };
  }
  if (MAYBE_DONE.has(error) || isGatewayError(status)) return { kind: 'unknown', reason };
  if (TEMPORARY.has(error) || status >= 500 || status === 408) {
    return { kind: 'retryable', reason, ...(seconds === null ? {} : { retryAfterSeconds: seconds }) };
  }
  // Without an answer of Slack's own, the outcome is unknown.
  if (status === 200 && error === '') return { kind: 'unknown', reason };
  return { kind: 'permanent', reason };
}

/** Slack reports errors with status 200 too. */
function errorOf(answer: Answered): string {
  const said = objectIn(answer);
  return said?.ok === false && typeof said.error === 'string' ? said.error : '';
}

/** `missing_scope (needed: chat:write)`, `invalid_arguments ([ERROR] ...)`. */
function detailOf(said: Readonly<Record<string, unknown>> | null): string {
  if (typeof said?.error !== 'string') return '';
  if (typeof said.needed === 'string') return `${said.error} (needed: ${said.needed})`;
  const { messages } = (said.response_metadata ?? {}) as { messages?: unknown };
  return Array.isArray(messages) && messages.length > 0
    ? `${said.error} (${messages.join(', ')})`
    : said.error;
}

/** `<channel>/<ts>`, with the channel's id even if it was addressed by name. If Slack names none, as it was addressed. */
function receiptIn({ channel, ts }: Readonly<Record<string, unknown>>): string | null {
  return typeof channel === 'string' && typeof ts === 'string' ? `${channel}/${ts}` : null;
}

function readReceipt(receipt: string): readonly [channel: string | undefined, ts: string | undefined] {
  const [, channel, ts] = /^([^/]+)\/([\d.]+)$/.exec(receipt) ?? [];
  return [channel, ts];
}

async function lookUp(pool: Agent, request: SendRequest): Promise<LookUpResult> {
  const { address, settings, window, recordedAt, idempotencyKey } = request;
  const { channel, thread_ts } = address.to;
  if (!/^[CGD][A-Z0-9]{2,}$/.test(String(channel))) {
    return {
      kind: 'cannot-tell',
      reason: 'Slack shows the messages of a channel by its id only, not by its name',
    };
  }
  const method = thread_ts === undefined ? 'conversations.history' : 'conversations.replies';
  let cursor = '';
  for (let page = 0; page < LOOK_UP_PAGES; page += 1) {
    const url = new URL(`${settings.api_base}/${method}`);
    url.search = new URLSearchParams({
      channel: String(channel),
      ...(thread_ts === undefined ? {} : { ts: String(thread_ts) }),
      oldest: ((recordedAt - CLOCK_SLACK_MS) / 1000).toFixed(6),
      include_all_metadata: 'true',
      limit: String(LOOK_UP_PAGE_SIZE),
      ...(cursor === '' ? {} : { cursor }),
    }).toString();
    const called = await callHttp(
      pool,
      { method: 'GET', url, headers: { authorization: `Bearer ${settings.bot_token}` }, safe: true },
      window,
      { readBody: true, maxBytes: MAX_LOOK_UP_BYTES },
    );
    if (called.kind !== 'answered') return notLookedUp(called);
    const said = objectIn(called);
    if (called.status !== 200 || said?.ok !== true || !Array.isArray(said.messages)) {
      return notRead(called, method, settings);
    }
    const found = (said.messages as unknown[]).find((message) => keyOf(message) === idempotencyKey);
    if (found !== undefined) {
      const { ts } = found as { ts?: unknown };
      return { kind: 'found', receipt: typeof ts === 'string' ? `${channel}/${ts}` : null };
    }
    const { next_cursor: next } = (said.response_metadata ?? {}) as { next_cursor?: unknown };
    if (typeof next !== 'string' || next === '') return { kind: 'absent' };
    cursor = next;
  }
  return { kind: 'cannot-tell', reason: `too many messages in ${inOneLine(channel)} since then` };
}

/** A temporary failure is retried: a resend meanwhile could make a second copy. */
function notRead(answer: Answered, method: string, settings: TargetSettings): LookUpResult {
  const result = resultOf(answer, settings, null);
  const reason = `${method}: ${reasonOf(answer.status, apiOrigin(settings), detailOf(objectIn(answer)))}`;
  // An app that may write to a channel need not be allowed to read it. Then no look-up will ever tell.
  const never = result.kind === 'taken' || CREDENTIAL_REFUSED.has(errorOf(answer));
  return never ? { kind: 'cannot-tell', reason } : notLookedUp({ ...result, reason });
}

function keyOf(message: unknown): unknown {
  const { metadata } = (message ?? {}) as {
    metadata?: { event_type?: unknown; event_payload?: { key?: unknown } };
  };
  return metadata?.event_type === EVENT_TYPE ? metadata.event_payload?.key : undefined;
}
