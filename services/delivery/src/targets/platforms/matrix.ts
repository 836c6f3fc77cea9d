import type { Agent } from 'undici';
import { renderChunks } from '../../text/cut/render-chunks.ts';
import type { Measure } from '../../text/markup/markup.ts';
import { joinLists, richHtml } from '../../text/markup/rich-html.ts';
import { type Answered, apiOrigin, isTaken, objectIn, reasonOf, retryAfterOf } from '../calls/api-answer.ts';
import { type CallResult, callHttp, connections, type HttpCall } from '../calls/http-call.ts';
import type {
  EditResult,
  OutboundFile,
  SendRequest,
  SendResult,
  Target,
  TargetAddress,
  TargetSettings,
} from '../target.ts';

/** Messages by Matrix' client-server API. The transaction id makes a repeat harmless: the server returns the same event. */

/**
 * An event has at most 65,536 bytes, including what servers add to it (2 to 4 KB). It holds text and HTML, and an edit holds
 * the text twice: three times this limit fits with room to spare.
 */
const MAX_BYTES = 20_000;
/** As written in JSON. */
const jsonBytes: Measure = (text) => Buffer.byteLength(JSON.stringify(text)) - 2;
/** For a rate limit without a time. */
const DEFAULT_FLOOD_SECONDS = 5;
const FORMAT = 'org.matrix.custom.html';
/** Newer servers use `m.mentions` only. Older ones look for this in the text. */
const ROOM_MENTION = /@(?=room\b)/g;

export function matrixTarget(): Target {
  const pool = connections();
  return {
    name: 'matrix',
    idempotent: true,

    destination: (address, settings) => ({
      name: `matrix ${apiOrigin(settings)}`,
      chat: String(address.to.room_id),
    }),

    compose({ text }) {
      const harmless = text.replaceAll(ROOM_MENTION, '@\u200b');
      return renderChunks(harmless, richHtml, { limit: MAX_BYTES, measure: jsonBytes }).map((chunk) => ({
        ...chunk,
        text: joinLists(chunk.text),
      }));
    },

    async send(request) {
      const given = String(request.address.to.room_id);
      const room = await roomOf(pool, request);
      if (typeof room !== 'string') return room;
      const result = await put(pool, request, room, request.idempotencyKey, contentOf(request));
      // The alias may name another room by the time of an edit or a reply.
      if (result.kind !== 'taken' || result.receipt === null || room === given) return result;
      return { ...result, receipt: `${room} ${result.receipt}` };
    },

    /** An upload that no event names is seen by nobody, so only the event must not be doubled. */
    async sendFile(request, file) {
      const given = String(request.address.to.room_id);
      const room = await roomOf(pool, request);
      if (typeof room !== 'string') return room;
      const uploaded = await upload(pool, request, file);
      if (typeof uploaded !== 'string') return uploaded;
      const result = await put(pool, request, room, request.idempotencyKey, {
        msgtype: 'm.file',
        body: file.name,
        filename: file.name,
        url: uploaded,
        info: { mimetype: file.type, size: file.bytes.length },
        'm.mentions': {},
        ...threadOf(request.address),
      });
      if (result.kind !== 'taken' || result.receipt === null || room === given) return result;
      return { ...result, receipt: `${room} ${result.receipt}` };
    },

    async edit(request, receipt): Promise<EditResult> {
      const place = placeIn(receipt, request.address);
      if (place === null) return { kind: 'gone', reason: 'the receipt names no event' };
      const fresh = contentOf(request);
      const { 'm.relates_to': _thread, ...content } = fresh;
      const room = place.room.startsWith('#') ? await roomOf(pool, request) : place.room;
      if (typeof room !== 'string') return room;
      const result = await put(pool, request, room, `${request.idempotencyKey}.edit`, {
        msgtype: fresh.msgtype,
        // For clients that do not know edits.
        body: `* ${fresh.body}`,
        'm.mentions': {},
        'm.new_content': content,
        'm.relates_to': { rel_type: 'm.replace', event_id: place.message },
      });
      // A further edit edits the first event, not its replacement.
      if (result.kind === 'taken') return { ...result, receipt };
      return result.kind === 'permanent' ? { kind: 'gone', reason: result.reason } : result;
    },

    placeOf(receipt, address) {
      const place = placeIn(receipt, address);
      if (place === null || place.room.startsWith('#')) return null;
      const { thread_id: thread } = address.to;
      return {
        platform: 'matrix',
        chat: place.room,
        thread: thread === undefined ? null : String(thread),
        message: place.message,
      };
    },

    async typing(request) {
      const room = await roomOf(pool, request);
      if (typeof room !== 'string') return;
      const user = await userOf(pool, request);
      if (user === null) return;
      await call(pool, request, {
        method: 'PUT',
        path: `/rooms/${encodeURIComponent(room)}/typing/${encodeURIComponent(user)}`,
        body: { typing: true, timeout: TYPING_MS },
      });
    },

    close: () => pool.destroy(),
  };
}

/** The core asks again every 8 s. */
const TYPING_MS = 12_000;

/** `$event`, or `!room $event` if the address was an alias. */
function placeIn(receipt: string, { to }: TargetAddress): { room: string; message: string } | null {
  const [, room = String(to.room_id), message] = /^(?:(!\S+) )?(\$\S+)$/.exec(receipt) ?? [];
  return message === undefined ? null : { room, message };
}

type RequestScope = Pick<SendRequest, 'address' | 'settings' | 'window'>;

interface MessageContent {
  /** Statuses are notices: they notify nobody, and bots do not answer them. */
  readonly msgtype: 'm.text' | 'm.notice';
  readonly body: string;
  readonly format: typeof FORMAT;
  readonly formatted_body: string;
  /** Nobody is mentioned, whatever the text says. */
  readonly 'm.mentions': Record<string, never>;
  readonly 'm.relates_to'?: unknown;
}

function contentOf({ chunk, message, address }: SendRequest): MessageContent {
  return {
    msgtype: message.type === 'interim-status' ? 'm.notice' : 'm.text',
    body: chunk.plain ?? chunk.text,
    format: FORMAT,
    formatted_body: chunk.text,
    'm.mentions': {},
    ...threadOf(address),
  };
}

function threadOf({ to }: TargetAddress): { readonly 'm.relates_to'?: unknown } {
  const { thread_id: thread } = to;
  if (thread === undefined) return {};
  return {
    'm.relates_to': {
      rel_type: 'm.thread',
      event_id: thread,
      is_falling_back: true,
      'm.in_reply_to': { event_id: thread },
    },
  };
}

/** The `mxc:` address of the file (https://spec.matrix.org/latest/client-server-api/#post_matrixmediav3upload). */
async function upload(
  pool: Agent,
  { settings, window }: RequestScope,
  { name, type, bytes }: OutboundFile,
): Promise<string | Exclude<SendResult, { kind: 'taken' }>> {
  const url = new URL(`${baseOf(settings)}/_matrix/media/v3/upload`);
  url.searchParams.set('filename', name);
  const called = await callHttp(
    pool,
    {
      method: 'POST',
      url,
      headers: { authorization: `Bearer ${settings.access_token}`, 'content-type': type },
      body: bytes,
      safe: true,
    },
    window,
  );
  if (called.kind !== 'answered') return called;
  if (!isTaken(called)) return refusal(called, apiOrigin(settings));
  const { content_uri: address } = objectIn(called) ?? {};
  if (typeof address === 'string' && address.startsWith('mxc://')) return address;
  return { kind: 'retryable', reason: `${apiOrigin(settings)} gave no address for the file` };
}

async function put(
  pool: Agent,
  request: SendRequest,
  room: string,
  transaction: string,
  content: unknown,
): Promise<SendResult> {
  const path = `/rooms/${encodeURIComponent(room)}/send/m.room.message/${encodeURIComponent(transaction)}`;
  const called = await call(pool, request, { method: 'PUT', path, body: content });
  if (called.kind !== 'answered') return called;
  if (!isTaken(called)) return refusal(called, apiOrigin(request.settings));
  const { event_id: id } = objectIn(called) ?? {};
  return { kind: 'taken', receipt: typeof id === 'string' ? id : null };
}

/** An alias can point to another room at any time, so it is looked up for each message. */
async function roomOf(
  pool: Agent,
  request: RequestScope,
): Promise<string | Exclude<SendResult, { kind: 'taken' }>> {
  const given = String(request.address.to.room_id);
  if (!given.startsWith('#')) return given;
  const path = `/directory/room/${encodeURIComponent(given)}`;
  const called = await call(pool, request, { method: 'GET', path });
  if (called.kind !== 'answered') return called;
  if (called.status !== 200) return refusal(called, apiOrigin(request.settings));
  const { room_id: id } = objectIn(called) ?? {};
  if (typeof id === 'string') return id;
  return { kind: 'retryable', reason: `${apiOrigin(request.settings)} gave no room for the alias` };
}

/** The user that the token belongs to: the typing notice names it. */
async function userOf(pool: Agent, request: RequestScope): Promise<string | null> {
  const called = await call(pool, request, { method: 'GET', path: '/account/whoami' });
  if (called.kind !== 'answered' || called.status !== 200) return null;
  const { user_id: id } = objectIn(called) ?? {};
  return typeof id === 'string' ? id : null;
}

function call(
  pool: Agent,
  { settings, window }: RequestScope,
  { method, path, body }: { method: HttpCall['method']; path: string; body?: unknown },
): Promise<CallResult> {
  return callHttp(
    pool,
    {
      method,
      url: new URL(`${baseOf(settings)}/_matrix/client/v3${path}`),
      headers: {
        authorization: `Bearer ${settings.access_token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? { safe: true } : { body: JSON.stringify(body) }),
    },
    window,
  );
}

function baseOf(settings: TargetSettings): string {
  return String(settings.api_base).replace(/\/+$/, '');
}

function refusal(answer: Answered, origin: string): Exclude<SendResult, { kind: 'taken' }> {
  const { status } = answer;
  const { errcode, error, retry_after_ms: waitMs } = objectIn(answer) ?? {};
  const reason = reasonOf(
    status,
    origin,
    [errcode, error].filter((part) => typeof part === 'string').join(' '),
  );
  if (status === 429 || errcode === 'M_LIMIT_EXCEEDED') {
    const said = retryAfterOf(answer.headers) ?? (typeof waitMs === 'number' ? waitMs / 1000 : null);
    // The limit counts for the user in all rooms.
    return {
      kind: 'retryable',
      reason,
      retryAfterSeconds: said ?? DEFAULT_FLOOD_SECONDS,
      scope: 'target',
    };
  }
  if (status === 401)
    return { kind: 'retryable', reason: `${reason} (targets.matrix.access_token was refused)` };
  if (status >= 500 || status === 408) {
    const seconds = retryAfterOf(answer.headers);
    return { kind: 'retryable', reason, ...(seconds === null ? {} : { retryAfterSeconds: seconds }) };
  }
  return { kind: 'permanent', reason };
}
