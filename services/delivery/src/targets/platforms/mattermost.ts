import { clickProof } from '@angelia/chats';
import type { Agent } from 'undici';
import { DUPLICATE_MARK } from '../../text/cut/chunk.ts';
import { chunksWithoutMentions } from '../../text/cut/neutralize-mentions.ts';
import {
  type Answered,
  apiOrigin,
  headerOf,
  isGatewayError,
  isTaken,
  notLookedUp,
  objectIn,
  reasonOf,
  retryAfterOf,
} from '../calls/api-answer.ts';
import { callHttp, connections, type HttpCall } from '../calls/http-call.ts';
import { multipart } from '../calls/multipart.ts';
import type {
  EditResult,
  LookUpResult,
  OutboundFile,
  SendRequest,
  SendResult,
  Target,
  TargetSettings,
} from '../target.ts';

/**
 * Posts by Mattermost's API v4. `pending_post_id` makes a repeat harmless for 30 s, if it reaches the same node
 * (`deduplicateCreatePost` in the server). After that, a look-up finds the post by a property that we set.
 */

/** PostMessageMaxRunesV2. We count UTF-16 units, of which there are never fewer. */
const MAX_CHARACTERS = 16_383;
/** Posts have properties that their author may set. They do not change the text. */
const PROPERTY = 'angelia_delivery';
/** The server lists at most 1,000 posts of at most 16,383 characters. More than this is a flood. */
const MAX_LOOK_UP_BYTES = 8 * 1024 * 1024;
/** No limit is documented. More than a handful would hide the conversation. */
const MOST_BUTTONS = 10;
const LABEL_LENGTH = 60;
/** How much our database's clock and the server's may differ. */
const CLOCK_SLACK_MS = 10 * 60_000;
/** For a rate limit without a time: the limits are per second. */
const DEFAULT_FLOOD_SECONDS = 5;
/** Up to here `X-Ratelimit-Reset` is seconds to wait; above, it is a time (both have been documented). */
const LONGEST_WAIT_SECONDS = 86_400;

export function mattermostTarget(): Target {
  const pool = connections();
  return {
    name: 'mattermost',
    idempotent: false,
    buttons: { most: MOST_BUTTONS, labelLength: LABEL_LENGTH },
    clicksNeedUrl: true,

    destination: (address, settings) => ({
      name: `mattermost ${apiOrigin(settings)}`,
      chat: String(address.to.channel_id),
    }),

    compose({ text }) {
      const limit = MAX_CHARACTERS - DUPLICATE_MARK.length - 2;
      return chunksWithoutMentions(text, limit).map((chunk) => ({ text: chunk }));
    },

    send: (request) => post(pool, request, { message: messageOf(request) }),

    /** Nobody sees an upload that no post names, so only the post must not be doubled: it is looked up like every other. */
    async sendFile(request, file) {
      let { markDuplicate } = request;
      if (markDuplicate) {
        const found = await lookUp(pool, request);
        if (found.kind === 'found') return { kind: 'taken', receipt: found.receipt };
        if (found.kind === 'retryable') return found;
        markDuplicate = found.kind === 'cannot-tell';
      }
      const id = await upload(pool, request, file);
      if (typeof id !== 'string') return id;
      return post(pool, request, { message: markDuplicate ? DUPLICATE_MARK.trim() : '', file_ids: [id] });
    },

    async edit(request, receipt): Promise<EditResult> {
      const called = await call(pool, request, {
        method: 'PUT',
        path: `/posts/${encodeURIComponent(receipt)}/patch`,
        // These replace all properties, so the buttons of a question that is closed disappear.
        body: { message: messageOf(request), props: propsOf(request) },
      });
      if (called.kind !== 'answered') return called;
      if (isTaken(called)) return taken(called);
      const refused = refusal(called, apiOrigin(request.settings));
      return refused.kind === 'permanent' ? { kind: 'gone', reason: refused.reason } : refused;
    },

    placeOf(receipt, { to }) {
      // Replies to a post outside of threads have it as their root.
      const thread = String(to.root_id ?? receipt);
      return { platform: 'mattermost', chat: String(to.channel_id), thread, message: receipt };
    },

    async typing(request) {
      const { channel_id: channel, root_id: root } = request.address.to;
      await call(pool, request, {
        method: 'POST',
        path: '/users/me/typing',
        body: { channel_id: channel, ...(root === undefined ? {} : { parent_id: root }) },
      });
    },

    lookUp: (request) => lookUp(pool, request),
    close: () => pool.destroy(),
  };
}

async function post(
  pool: Agent,
  request: SendRequest,
  content: { readonly message: string; readonly file_ids?: readonly string[] },
): Promise<SendResult> {
  const { address, idempotencyKey } = request;
  const called = await call(pool, request, {
    method: 'POST',
    path: '/posts',
    body: {
      channel_id: address.to.channel_id,
      ...(address.to.root_id === undefined ? {} : { root_id: address.to.root_id }),
      ...content,
      pending_post_id: idempotencyKey,
      props: propsOf(request),
    },
  });
  if (called.kind !== 'answered') return called;
  if (isTaken(called)) return taken(called);
  return refusal(called, apiOrigin(request.settings));
}

/** The id of the file (https://developers.mattermost.com/api-documentation/#/operations/UploadFile). */
async function upload(
  pool: Agent,
  { settings, window, address }: SendRequest,
  { name, type, bytes }: OutboundFile,
): Promise<string | Exclude<SendResult, { kind: 'taken' }>> {
  const fields = { channel_id: String(address.to.channel_id) };
  const { contentType, body } = multipart(fields, { field: 'files', name, type, bytes });
  const headers = { authorization: `Bearer ${settings.token}`, 'content-type': contentType };
  const url = new URL(`${baseOf(settings)}/api/v4/files`);
  const called = await callHttp(pool, { method: 'POST', url, headers, body, safe: true }, window);
  if (called.kind !== 'answered') return called;
  if (!isTaken(called)) return refusal(called, apiOrigin(settings));
  const { file_infos: infos } = (objectIn(called) ?? {}) as { file_infos?: readonly { id?: unknown }[] };
  const id = infos?.[0]?.id;
  if (typeof id === 'string') return id;
  return { kind: 'retryable', reason: `${apiOrigin(settings)} gave no id for the file` };
}

function baseOf(settings: TargetSettings): string {
  return String(settings.api_base).replace(/\/+$/, '');
}

function messageOf({ chunk, markDuplicate }: SendRequest): string {
  return markDuplicate ? `${DUPLICATE_MARK.trim()}\n\n${chunk.text}` : chunk.text;
}

/** The buttons belong to the last post of a long text. */
function propsOf({ message, index, count, idempotencyKey, settings }: SendRequest): unknown {
  const { buttons = [] } = message;
  const { clicks_url: url, token } = settings;
  if (buttons.length === 0 || index + 1 < count || typeof url !== 'string')
    return { [PROPERTY]: idempotencyKey };
  const actions = buttons.slice(0, MOST_BUTTONS).map(({ label, data, style }, number) => ({
    // Part of a path at the server: letters and digits only.
    id: `button${number}`,
    type: 'button',
    name: label,
    ...(style === undefined ? {} : { style }),
    // The server shows this to nobody. It sends it to us with the click.
    integration: { url, context: { data, proof: clickProof(String(token), data) } },
  }));
  return { [PROPERTY]: idempotencyKey, attachments: [{ actions }] };
}

interface ApiCall {
  readonly method: HttpCall['method'];
  readonly path: string;
  readonly body?: unknown;
}

function call(
  pool: Agent,
  { settings, window }: Pick<SendRequest, 'settings' | 'window'>,
  { method, path, body }: ApiCall,
) {
  return callHttp(
    pool,
    {
      method,
      url: new URL(`${baseOf(settings)}/api/v4${path}`),
      headers: {
        authorization: `Bearer ${settings.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? { safe: true } : { body: JSON.stringify(body) }),
    },
    window,
    body === undefined ? { readBody: true, maxBytes: MAX_LOOK_UP_BYTES } : { readBody: true },
  );
}

function taken(answer: Answered): SendResult {
  const { id } = objectIn(answer) ?? {};
  return { kind: 'taken', receipt: typeof id === 'string' && /^[a-z0-9]{26}$/.test(id) ? id : null };
}

function refusal(answer: Answered, origin: string): Exclude<SendResult, { kind: 'taken' }> {
  const { status } = answer;
  const reason = reasonOf(status, origin, objectIn(answer)?.message);
  if (status === 429) {
    const seconds = retryAfterOf(answer.headers) ?? resetOf(answer) ?? DEFAULT_FLOOD_SECONDS;
    return { kind: 'retryable', reason, retryAfterSeconds: seconds, scope: 'target' };
  }
  if (status === 401)
    return { kind: 'retryable', reason: `${reason} (targets.mattermost.token was refused)` };
  if (isGatewayError(status)) return { kind: 'unknown', reason };
  if (status >= 500 || status === 408) {
    const seconds = retryAfterOf(answer.headers);
    return { kind: 'retryable', reason, ...(seconds === null ? {} : { retryAfterSeconds: seconds }) };
  }
  return { kind: 'permanent', reason };
}

function resetOf({ headers }: Answered): number | null {
  const reset = Number(headerOf(headers, 'x-ratelimit-reset') ?? Number.NaN);
  if (!Number.isFinite(reset)) return null;
  return reset > LONGEST_WAIT_SECONDS ? Math.max(1, reset - Date.now() / 1000) : Math.max(1, reset);
}

/** Looks among the posts and replies of the channel that changed since the answer was recorded. */
async function lookUp(pool: Agent, request: SendRequest): Promise<LookUpResult> {
  const { address, idempotencyKey, recordedAt, settings } = request;
  const channel = encodeURIComponent(String(address.to.channel_id));
  const since = Math.max(0, Math.floor(recordedAt - CLOCK_SLACK_MS));
  const called = await call(pool, request, {
    method: 'GET',
    path: `/channels/${channel}/posts?since=${since}`,
  });
  if (called.kind !== 'answered') return notLookedUp(called);
  if (!isTaken(called)) return notLookedUp(refusal(called, apiOrigin(settings)));
  const answer = objectIn(called);
  if (typeof answer?.posts !== 'object' || answer.posts === null) {
    return { kind: 'cannot-tell', reason: `${apiOrigin(settings)} gave no list of posts that could be read` };
  }
  const posts = Object.values(answer.posts) as { id?: unknown; delete_at?: unknown; props?: unknown }[];
  const found = posts.find(
    ({ props }) => (props as Record<string, unknown> | null | undefined)?.[PROPERTY] === idempotencyKey,
  );
  if (found !== undefined) return { kind: 'found', receipt: typeof found.id === 'string' ? found.id : null };
  // The server lists no more than this, and ours may be among the rest.
  return posts.length < MAX_POSTS
    ? { kind: 'absent' }
    : { kind: 'cannot-tell', reason: `more than ${MAX_POSTS} posts since then` };
}

/** `GetPostsSince` stops at 1,000. */
const MAX_POSTS = 1_000;
