import { randomUUID } from 'node:crypto';
import { signatureHeaders, TEST_SECRET, type TestStack } from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import type { Messaged, Posted } from './history.ts';
import { KINDS, type Kind, promptOf } from './kinds.ts';
import { randomFrom } from './random.ts';

export interface LoadPlan {
  readonly seed: number;
  readonly lastsMs: number;
  /** Pieces of work per second. */
  readonly perSecond: number;
  /** When it is aborted, senders stop trying. */
  readonly signal: AbortSignal;
}

export interface Load {
  readonly posts: readonly Posted[];
  readonly messages: readonly Messaged[];
}

/** After this time a sender hangs up and tries again with the same delivery id. */
const SENDER_PATIENCE_MS = 10_000;
const TRY_AGAIN_MS = 300;
/** One in this many webhooks is sent again although it was accepted, as real senders do. */
const REPEATED = 6;

/** Sends work of every kind, as careful senders do: again until it is accepted. */
export async function sendLoad(stack: TestStack, plan: LoadPlan): Promise<Load> {
  const random = randomFrom(plan.seed ^ 0x5eed);
  const posts: Posted[] = [];
  const messages: Messaged[] = [];
  const work: Promise<void>[] = [];
  const begin = performance.now();
  const count = Math.floor((plan.lastsMs / 1000) * plan.perSecond);
  let kinds: Kind[] = [];
  for (let n = 1; n <= count; n += 1) {
    if (kinds.length === 0) kinds = random.shuffled(KINDS);
    const kind = kinds.pop() as Kind;
    const repeated = n % REPEATED === 0;
    await pause(Math.max(0, begin + (n * 1000) / plan.perSecond - performance.now()));
    if (plan.signal.aborted) break;
    work.push(new Worker(stack, plan.signal, posts, messages).send(kind, n, repeated));
  }
  await Promise.all(work);
  return { posts, messages };
}

class Worker {
  readonly #stack: TestStack;
  readonly #signal: AbortSignal;
  readonly #posts: Posted[];
  readonly #messages: Messaged[];

  constructor(stack: TestStack, signal: AbortSignal, posts: Posted[], messages: Messaged[]) {
    this.#stack = stack;
    this.#signal = signal;
    this.#posts = posts;
    this.#messages = messages;
  }

  async send(kind: Kind, n: number, repeated: boolean): Promise<void> {
    const key = `k${n}`;
    const sessionId = await this.#post(kind, key, n, repeated);
    if (kind === 'coalesced') {
      await this.#post(kind, key, n, false);
      await this.#post(kind, key, n, repeated);
    }
    if (sessionId === null) return;
    if (kind === 'follow') await this.#message(sessionId, key, 'message', promptOf('more', key));
    if (kind === 'cancel' && n % 2 === 0) await this.#cancel(sessionId, key);
    if (kind === 'clarify' && (await this.#waits(sessionId))) {
      await this.#message(sessionId, key, 'answer', `blue for ${key}`);
    }
  }

  async #post(kind: Kind, key: string, n: number, repeated: boolean): Promise<string | null> {
    const deliveryId = randomUUID();
    const body = JSON.stringify({ text: promptOf(kind, key), key, chat: `${1_000_000 + n}` });
    const answers: { status: number; sessionId: string; at: number }[] = [];
    this.#posts.push({ key, kind, deliveryId, at: Date.now(), answers });
    const once = async () => {
      const { status, json } = await this.#request('POST', `/webhooks/${kind}`, body, {
        ...signatureHeaders({ secret: TEST_SECRET, deliveryId }, body),
      });
      answers.push({ status, sessionId: String(json.session_id ?? ''), at: Date.now() });
      return isTaken(status) ? String(json.session_id) : null;
    };
    const sessionId = await this.#untilTaken(once);
    if (repeated && sessionId !== null) await once();
    return sessionId;
  }

  async #message(sessionId: string, key: string, what: 'message' | 'answer', text: string): Promise<void> {
    const idempotencyKey = randomUUID();
    const takenBy = await this.#untilTaken(async () => {
      const { status, json } = await this.#request(
        'POST',
        `/v1/sessions/${sessionId}/messages`,
        JSON.stringify({ text }),
        { 'idempotency-key': idempotencyKey },
      );
      return isTaken(status) ? String(json.session_id) : null;
    });
    this.#messages.push({ key, what, text, sessionId: takenBy });
  }

  async #cancel(sessionId: string, key: string): Promise<void> {
    const takenBy = await this.#untilTaken(async () => {
      const { status } = await this.#request('POST', `/v1/sessions/${sessionId}/cancel`, '{}', {});
      // 409: the session has ended.
      return isTaken(status) || status === 409 ? sessionId : null;
    });
    this.#messages.push({ key, what: 'cancel', text: '', sessionId: takenBy });
  }

  /** Waits until the session has an open question. False if it ended, or if the load stops. */
  async #waits(sessionId: string): Promise<boolean> {
    const seen = await this.#untilTaken(async () => {
      const { status, json } = await this.#request('GET', `/v1/sessions/${sessionId}`, null, {});
      return status === 200 && ['waiting', 'ended'].includes(String(json.status))
        ? String(json.status)
        : null;
    });
    return seen === 'waiting';
  }

  async #untilTaken(attempt: () => Promise<string | null>): Promise<string | null> {
    while (!this.#signal.aborted) {
      const taken = await attempt();
      if (taken !== null) return taken;
      await pause(TRY_AGAIN_MS);
    }
    return null;
  }

  /** Status 0: there was no answer. */
  async #request(
    method: string,
    path: string,
    body: string | null,
    headers: Record<string, string>,
  ): Promise<{ status: number; json: Record<string, unknown> }> {
    try {
      const response = await fetch(new URL(path, this.#stack.baseUrl), {
        method,
        body,
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${this.#stack.adminToken}`,
          ...headers,
        },
        signal: AbortSignal.timeout(SENDER_PATIENCE_MS),
      });
      return { status: response.status, json: (await response.json()) as Record<string, unknown> };
    } catch {
      return { status: 0, json: {} };
    }
  }
}

const isTaken = (status: number): boolean => status === 200 || status === 202;
