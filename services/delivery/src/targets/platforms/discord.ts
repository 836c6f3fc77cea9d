import { createHash } from 'node:crypto';
import type { Agent } from 'undici';
import { DUPLICATE_MARK } from '../../text/cut/chunk.ts';
import { renderChunks } from '../../text/cut/render-chunks.ts';
import { discordMarkdown } from '../../text/markup/discord-markdown.ts';
import { utf16Units } from '../../text/markup/markup.ts';
import { type Answered, apiOrigin, headerOf, objectIn, reasonOf, retryAfterOf } from '../calls/api-answer.ts';
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

/** Messages in channels and threads, by Discord's API (https://docs.discord.com/developers/resources/message). */

/** "Up to 5 buttons" in a row, "up to 5" rows (https://docs.discord.com/developers/components/reference). */
const BUTTONS_PER_ROW = 5;
const MOST_BUTTONS = 25;
const LONGEST_LABEL = 80;
const ACTION_ROW = 1;
const BUTTON = 2;
const STYLES = { primary: 1, secondary: 2, danger: 4 } as const;

/** Discord counts code points. We count UTF-16 units, of which there are never fewer. */
const MAX_UNITS = 2_000;
/** "Can be up to 25 characters". */
const NONCE_LENGTH = 25;
/** "Checked for uniqueness in the past few minutes": we rely on two. */
const NONCE_HOLDS_MS = 120_000;
/** Discord fetches previews unasked: that would leak what a URL holds without a click. */
const SUPPRESS_EMBEDS = 1 << 2;
/** "Clients using the HTTP API must provide a valid User Agent". */
const USER_AGENT = 'DiscordBot (https://github.com/angelia, 0.1)';

export function discordTarget(): Target {
  const pool = connections();
  return {
    name: 'discord',
    idempotent: true,
    buttons: { most: MOST_BUTTONS, labelLength: LONGEST_LABEL },
    // "All bots can make up to 50 requests per second". The limits of a channel are in its answers.
    limits: { overall: { sends: 50, seconds: 1 } },

    destination: (address, settings) => ({
      name: `discord ${apiOrigin(settings)}`,
      chat: channelOf(address),
    }),

    compose: ({ text }) => renderChunks(text, discordMarkdown, { limit: MAX_UNITS, measure: utf16Units }),

    async send(request) {
      const called = await call(pool, 'POST', `/channels/${channelOf(request.address)}/messages`, request, {
        content: contentOf(request),
        nonce: nonceOf(request.idempotencyKey),
        enforce_nonce: true,
        ...(hasButtons(request) ? { components: rowsOf(request.message.buttons ?? []) } : {}),
      });
      return called.kind === 'answered'
        ? resultOf(called, request.settings, channelOf(request.address))
        : called;
    },

    async sendFile(request, file) {
      const channel = channelOf(request.address);
      const called = await callWithFile(pool, `/channels/${channel}/messages`, request, file);
      return called.kind === 'answered' ? resultOf(called, request.settings, channel) : called;
    },

    async edit(request, receipt): Promise<EditResult> {
      const [, channel, message] = /^(\d+)\/(\d+)$/.exec(receipt) ?? [];
      if (channel === undefined) return { kind: 'gone', reason: 'the receipt names no message' };
      const called = await call(pool, 'PATCH', `/channels/${channel}/messages/${message}`, request, {
        content: contentOf(request),
        // An edit that leaves them out would keep those that are there.
        components: hasButtons(request) ? rowsOf(request.message.buttons ?? []) : [],
      });
      if (called.kind !== 'answered') return called;
      const result = resultOf(called, request.settings, channel);
      return result.kind === 'permanent' ? { kind: 'gone', reason: result.reason } : result;
    },

    placeOf(receipt, { to }) {
      const [, channel, message] = /^(\d+)\/(\d+)$/.exec(receipt) ?? [];
      if (channel === undefined || message === undefined) return null;
      // A thread is a channel, so its messages stand in it and not in the channel around it.
      const thread = to.thread_id === undefined ? null : channel;
      return { platform: 'discord', chat: channel, thread, message };
    },

    async typing({ address, settings, window }) {
      await call(pool, 'POST', `/channels/${channelOf(address)}/typing`, { settings, window });
    },

    close: () => pool.destroy(),
  };
}

/** For Discord, a thread is a channel. */
function channelOf({ to }: TargetAddress): string {
  return String(to.thread_id ?? to.channel_id);
}

/** They belong under the end of the text. */
function hasButtons({ message, index, count }: SendRequest): boolean {
  return index === count - 1 && message.buttons !== undefined && message.buttons.length > 0;
}

function rowsOf(buttons: readonly MessageButton[]): unknown[] {
  const rows = [];
  for (let first = 0; first < buttons.length; first += BUTTONS_PER_ROW) {
    const components = buttons.slice(first, first + BUTTONS_PER_ROW).map(({ label, data, style }) => ({
      type: BUTTON,
      style: STYLES[style ?? 'secondary'],
      label,
      custom_id: data,
    }));
    rows.push({ type: ACTION_ROW, components });
  }
  return rows;
}

function contentOf(request: SendRequest): string {
  return markOf(request) + request.chunk.text;
}

/** The nonce prevents a second copy for a few minutes only. Later, a resend is marked as on other platforms. */
function markOf({ markDuplicate, message, ageMs }: SendRequest): string {
  const mayBeSecond = message.possibleDuplicate && ageMs > NONCE_HOLDS_MS;
  return markDuplicate || mayBeSecond ? DUPLICATE_MARK : '';
}

function nonceOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, NONCE_LENGTH);
}

function call(
  pool: Agent,
  method: 'POST' | 'PATCH',
  path: string,
  { settings, window }: Pick<SendRequest, 'settings' | 'window'>,
  message?: Readonly<Record<string, unknown>>,
): Promise<CallResult> {
  return callHttp(
    pool,
    {
      method,
      url: new URL(`${settings.api_base}${path}`),
      headers: {
        ...headersFor(settings),
        ...(message === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: message === undefined ? '' : JSON.stringify({ ...message, ...HARMLESS }),
    },
    window,
  );
}

/** https://docs.discord.com/developers/reference#uploading-files: the message is the field `payload_json` of the form. */
function callWithFile(
  pool: Agent,
  path: string,
  request: SendRequest,
  { name, type, bytes }: OutboundFile,
): Promise<CallResult> {
  const { settings, window, idempotencyKey } = request;
  const mark = markOf(request).trim();
  const payload_json = JSON.stringify({
    ...(mark === '' ? {} : { content: mark }),
    nonce: nonceOf(idempotencyKey),
    enforce_nonce: true,
    attachments: [{ id: 0, filename: name }],
    ...HARMLESS,
  });
  const { contentType, body } = multipart({ payload_json }, { field: 'files[0]', name, type, bytes });
  return callHttp(
    pool,
    {
      method: 'POST',
      url: new URL(`${settings.api_base}${path}`),
      headers: { ...headersFor(settings), 'content-type': contentType },
      body,
    },
    window,
  );
}

/** Nobody is pinged, whatever the text says. */
const HARMLESS = { allowed_mentions: { parse: [] }, flags: SUPPRESS_EMBEDS } as const;

function headersFor(settings: TargetSettings): Readonly<Record<string, string>> {
  return { authorization: `Bot ${settings.bot_token}`, 'user-agent': USER_AGENT };
}

function resultOf(answer: Answered, settings: TargetSettings, channel: string): SendResult {
  const { status } = answer;
  const said = objectIn(answer);
  if (status >= 200 && status < 300) {
    const pauseSeconds = emptyBucketSeconds(answer);
    return {
      kind: 'taken',
      receipt: receiptIn(said, channel),
      ...(pauseSeconds === null ? {} : { pauseSeconds }),
    };
  }
  const reason = reasonOf(status, apiOrigin(settings), wordsOf(said));
  if (status === 429) return flooded(answer, said, reason);
  if (status === 401) {
    return { kind: 'retryable', reason: `${reason} (targets.discord.bot_token was refused)` };
  }
  if (status >= 500 || status === 408) {
    const seconds = retryAfterOf(answer.headers);
    return { kind: 'retryable', reason, ...(seconds === null ? {} : { retryAfterSeconds: seconds }) };
  }
  return { kind: 'permanent', reason };
}

/** For a rate limit without a time. */
const DEFAULT_FLOOD_SECONDS = 5;

function flooded(
  answer: Answered,
  said: Readonly<Record<string, unknown>> | null,
  reason: string,
): SendResult {
  const seconds = typeof said?.retry_after === 'number' ? said.retry_after : retryAfterOf(answer.headers);
  // Without Discord's own body the answer is from the network before it, which stops all our requests.
  const everywhere =
    said === null || said.global === true || headerOf(answer.headers, 'x-ratelimit-scope') === 'global';
  return {
    kind: 'retryable',
    reason,
    retryAfterSeconds: seconds ?? DEFAULT_FLOOD_SECONDS,
    scope: everywhere ? 'target' : 'chat',
  };
}

/** https://docs.discord.com/developers/topics/rate-limits: every answer has the bucket's headers. */
function emptyBucketSeconds({ headers }: Answered): number | null {
  if (headerOf(headers, 'x-ratelimit-remaining') !== '0') return null;
  const seconds = Number(headerOf(headers, 'x-ratelimit-reset-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : null;
}

/** `Missing Permissions (50013)`. */
function wordsOf(said: Readonly<Record<string, unknown>> | null): string {
  if (said === null) return '';
  const code = typeof said.code === 'number' && said.code !== 0 ? ` (${said.code})` : '';
  return `${typeof said.message === 'string' ? said.message : ''}${code}`;
}

/** `<channel>/<message>`. If Discord does not name the channel, the one that the message was sent to. */
function receiptIn(said: Readonly<Record<string, unknown>> | null, sentTo: string): string | null {
  const { id, channel_id: channel = sentTo } = said ?? {};
  return typeof id === 'string' && typeof channel === 'string' ? `${channel}/${id}` : null;
}
