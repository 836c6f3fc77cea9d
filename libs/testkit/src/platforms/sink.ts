import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { listen, readBody } from '../network/http-server.ts';

/** What the sink does with a message. `cut-off`: it takes the message, and the sender gets no response. */
export type SinkBehaviour =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly retryAfter?: string;
      readonly body?: string;
      /** The message is taken at once and answered this much later. */
      readonly delayMs?: number;
    }
  | { readonly kind: 'reset' }
  | { readonly kind: 'hang' }
  | { readonly kind: 'cut-off' };

export const answer = (status: number, retryAfter?: string): SinkBehaviour => ({
  kind: 'answer',
  status,
  ...(retryAfter === undefined ? {} : { retryAfter }),
});

/** The body of the `http` target (INTERFACES.md). */
export interface SinkPayload {
  readonly type: 'interim-status' | 'final-response';
  /** Only on a question. */
  readonly clarification?: true;
  readonly approval?: true;
  readonly session_id: string;
  readonly delivery_id: string;
  readonly route: string;
  readonly text: string;
  readonly version: number;
  readonly possible_duplicate: boolean;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface SinkMessage {
  readonly at: number;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: string;
  readonly payload: SinkPayload;
  readonly webhookId: string;
  /** `unchecked` if the sink has no secret. */
  readonly signature: 'valid' | 'invalid' | 'unchecked';
  /** Whether the platform has the message: answered with 2xx, or cut off after taking it. */
  readonly taken: boolean;
  readonly behaviour: SinkBehaviour;
}

type SinkDecision = (payload: SinkPayload) => SinkBehaviour | Promise<SinkBehaviour>;

export interface Sink {
  readonly url: string;
  readonly port: number;
  /** Every completely read request, in the order of arrival. */
  readonly received: readonly SinkMessage[];
  /** The messages that a platform would show, in order. */
  taken(sessionId?: string): SinkMessage[];
  /** Texts of the final responses that were taken, for one session. */
  answersOf(sessionId: string): string[];
  /** Number of final responses that were taken, by session. */
  finalCounts(): Map<string, number>;
  /** What to do from now on. A function gets the message and may be asynchronous. Default: 200. */
  behave(behaviour: SinkBehaviour | SinkDecision): void;
  /** What to do with the next messages, one each, before `behave` applies again. */
  next(...behaviours: SinkBehaviour[]): void;
  clear(): void;
  stop(): Promise<void>;
}

/** A stand-in for a platform. It records what arrives and can fail in every way that a platform fails. */
export async function startSink(options: { secret?: string } = {}): Promise<Sink> {
  const verifier = options.secret === undefined ? null : new Webhook(options.secret);
  const received: SinkMessage[] = [];
  let always: SinkBehaviour | SinkDecision = answer(200);
  let queued: SinkBehaviour[] = [];

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // Reset before the body is read, so the message cannot have arrived.
    if (
      queued[0]?.kind === 'reset' ||
      (typeof always !== 'function' && always.kind === 'reset' && !queued[0])
    ) {
      queued.shift();
      request.socket.resetAndDestroy();
      return;
    }
    const raw = (await readBody(request)).toString('utf8');
    const payload = JSON.parse(raw) as SinkPayload;
    const behaviour = queued.shift() ?? (typeof always === 'function' ? await always(payload) : always);
    received.push({
      at: performance.now(),
      path: request.url ?? '',
      headers: request.headers,
      raw,
      payload,
      webhookId: String(request.headers['webhook-id'] ?? ''),
      signature: verifier === null ? 'unchecked' : verify(verifier, raw, request.headers),
      taken: behaviour.kind === 'cut-off' || (behaviour.kind === 'answer' && behaviour.status < 300),
      behaviour,
    });
    if (behaviour.kind === 'hang') return;
    if (behaviour.kind !== 'answer') {
      request.socket.destroy();
      return;
    }
    if (behaviour.delayMs) await pause(behaviour.delayMs, undefined, { ref: false });
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (behaviour.retryAfter !== undefined) headers['retry-after'] = behaviour.retryAfter;
    response.writeHead(behaviour.status, headers).end(behaviour.body ?? '{}');
  };

  const listening = await listen((request, response) => {
    take(request, response).catch(() => response.writeHead(400).end());
  });

  const taken = (sessionId?: string): SinkMessage[] =>
    received.filter(
      (message) => message.taken && (sessionId === undefined || message.payload.session_id === sessionId),
    );
  return {
    url: listening.url,
    port: listening.port,
    received,
    taken,
    answersOf: (sessionId) =>
      taken(sessionId)
        .filter((message) => message.payload.type === 'final-response')
        .map((message) => message.payload.text),
    finalCounts() {
      const counts = new Map<string, number>();
      for (const { payload } of taken()) {
        if (payload.type !== 'final-response') continue;
        counts.set(payload.session_id, (counts.get(payload.session_id) ?? 0) + 1);
      }
      return counts;
    },
    behave(behaviour) {
      always = behaviour;
    },
    next(...behaviours) {
      queued.push(...behaviours);
    },
    clear() {
      received.length = 0;
      queued = [];
      always = answer(200);
    },
    stop: listening.stop,
  };
}

function verify(verifier: Webhook, raw: string, headers: IncomingHttpHeaders): 'valid' | 'invalid' {
  try {
    verifier.verify(raw, headers as Record<string, string>);
    return 'valid';
  } catch {
    return 'invalid';
  }
}
