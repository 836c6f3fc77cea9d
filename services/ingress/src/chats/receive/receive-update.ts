import type { IncomingHttpHeaders } from 'node:http';
import { metrics } from '@angelia/service-kit';
import { Refusal } from '../../http/refusal.ts';
import { COMMIT_TIMEOUT_MS, withCommitTimeout } from '../../webhooks/accept/commit-limits.ts';
import type { Handshake, SignedRequest } from '../../webhooks/authenticate/scheme.ts';
import { readPayload } from '../../webhooks/payload/read-payload.ts';
import type { Chat } from '../chat.ts';
import type { ChatUpdate, ChatWebhook } from '../platform.ts';
import type { InOrder } from '../take/in-order.ts';
import { mayPair } from '../take/pair.ts';
import { speakerOf } from '../take/speakers.ts';
import { STRANGER, type TakeContext } from '../take/take-context.ts';
import { takeUpdate } from '../take/take-update.ts';

export interface ChatRequest {
  readonly headers: IncomingHttpHeaders;
  /** A Buffer, or nothing if the request had no body. */
  readonly body: unknown;
  /** Path and query as received. */
  readonly url: string;
}

export interface ChatAnswer {
  readonly status: number;
  readonly body?: unknown;
}

/** The chat of an address, before its body is read. @throws Refusal 404, 403 */
export function openChat(
  chats: ReadonlyMap<string, Chat>,
  platform: string,
  name: string,
): { readonly chat: Chat; readonly webhook: ChatWebhook } {
  const chat = chats.get(name);
  const webhook = chat?.platform.webhook;
  if (chat === undefined || webhook === undefined || chat.platform.name !== platform) {
    throw new Refusal(404, 'unknown_chat', 'no such chat: check the URL against `chats` of the config');
  }
  if (!chat.enabled) {
    throw new Refusal(403, 'chat_disabled', `chat ${name} is disabled: set \`enabled: true\` to open it`);
  }
  if (chat.receive !== 'webhook' && webhook.besideConnection !== true) {
    throw new Refusal(
      403,
      'not_a_webhook',
      `chat ${name} takes its updates by a connection: set \`receive: webhook\` to open this address`,
    );
  }
  return { chat, webhook };
}

/** Mattermost waits 30 s for the answer to an outgoing webhook. */
const LOOK_MS = 10_000;
const NO_BODY = Buffer.alloc(0);

/**
 * An update that a platform posts: verified on its bytes before anything is parsed, then taken. The platform is answered once
 * everything is durable (invariant accepted-is-durable); until then it sends the update again.
 *
 * @throws Refusal 400, 401, 415, 503; LogUnavailable and its like
 */
export async function receiveUpdate(
  context: TakeContext & { readonly inOrder: InOrder },
  { chat, webhook }: ReturnType<typeof openChat>,
  request: ChatRequest,
): Promise<ChatAnswer> {
  const signed: SignedRequest = {
    headers: request.headers,
    body: Buffer.isBuffer(request.body) ? request.body : NO_BODY,
    nowMs: Date.now(),
    publicUrl: chat.publicUrl === null ? null : chat.publicUrl + request.url,
  };
  if (!webhook.verify(signed, chat.settings)) {
    metrics.chatUpdates.add({ platform: chat.platform.name, outcome: 'unauthorized' });
    throw new Refusal(
      401,
      'unauthorized',
      `this is not signed by ${chat.platform.name} for chat ${chat.name}`,
    );
  }
  const body = webhook.parse?.(signed) ?? readPayload(signed.headers, signed.body);
  const handshake: Handshake | null = webhook.handshake?.(body) ?? null;
  if (handshake !== null) return handshake;
  const updates = await Promise.all(
    webhook.read(body, signed, chat.settings).map((update) => lookAt(context, chat, webhook, update)),
  );
  const told: (string | null)[] = [];
  await withCommitTimeout(
    COMMIT_TIMEOUT_MS,
    (async () => {
      for (const update of updates) {
        const taken = await context.inOrder.take(chat, update, () => takeUpdate(context, chat, update));
        told.push(taken.told ?? null);
      }
    })(),
  );
  return webhook.answer?.(updates, body, told) ?? { status: 200, body: {} };
}

/** The platform is not asked about what a stranger says (invariant strangers-cost-little). */
async function lookAt(
  { pairings }: Pick<TakeContext, 'pairings'>,
  chat: Chat,
  { look }: ChatWebhook,
  update: ChatUpdate,
): Promise<ChatUpdate> {
  if (look === undefined || update.kind !== 'message') return update;
  const mayBeHeard =
    chat.strangerReply !== null || mayPair(update) || (await speakerOf(pairings, chat, update)) !== null;
  if (!mayBeHeard) return { kind: 'other', updateId: update.updateId, why: STRANGER };
  return look(update, { settings: chat.settings, signal: AbortSignal.timeout(LOOK_MS) });
}
