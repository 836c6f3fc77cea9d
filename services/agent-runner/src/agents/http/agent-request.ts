import { type Signer, signerOf } from '@angelia/config';
import type { HttpAgentConfig } from '@angelia/contracts';
import { LONGEST_TIMER_MS } from '@angelia/waiting';
import type * as undici from 'undici';
import type { Dispatcher } from 'undici';
import { CallFailure, retryAfterMs } from '../../retry-call.ts';

export interface Request {
  /** `webhook-id`: the same for every try and every run of the turn. */
  readonly id: string;
  readonly body: string;
  /** The agent has a link to call back. */
  readonly mayAnswerLater: boolean;
}

export type AgentAnswer =
  | { readonly kind: 'text'; readonly text: string }
  /** 202: the answer comes with the callback. */
  | { readonly kind: 'later' };

/**
 * Thrown when the agent gives no answer. The message is for the operator: no secret, and nothing of the body, which may
 * repeat what we sent.
 */
export class AgentFailure extends CallFailure {
  override readonly name = 'AgentFailure';
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;

  constructor(message: string, { retryable = false, retryAfterMs = null as number | null } = {}) {
    super(message);
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }

  get reason(): CallFailure['reason'] {
    return this.retryable ? 'unavailable' : null;
  }

  get code(): 'agent_unreachable' | 'agent_failed' {
    return this.retryable ? 'agent_unreachable' : 'agent_failed';
  }
}

/** One POST. @throws AgentFailure, and `signal.reason` when the run is stopped */
export type PostToAgent = (
  agent: Pick<HttpAgentConfig, 'url' | 'secret' | 'headers' | 'request_timeout_seconds'>,
  request: Request,
  signal: AbortSignal,
) => Promise<AgentAnswer>;

/** An answer is a message for people; a megabyte is a book. */
const MAX_ANSWER_BYTES = 1_048_576;
/** Statuses of an agent that is busy or down, as docs/agents.md lists them. A 409 or 501 is an answer. */
const RETRYABLE = new Set([408, 425, 429, 500, 502, 503, 504]);
const CONNECT_TIMEOUT_MS = 10_000;

/** The operator wrote the host into the config, so it is trusted. Its certificate is checked nevertheless. */
export function agentPoster(options: { readonly ca?: string } = {}): PostToAgent {
  let opened: Promise<{ client: typeof undici; pool: undici.Agent }> | null = null;
  // Loaded on first use: a runner without http agents does not need the client.
  const open = async () => {
    const client = await import('undici');
    const pool = new client.Agent({
      // The request's signal is the only time limit: an agent may think for minutes before its first byte.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        timeout: CONNECT_TIMEOUT_MS,
        ...(options.ca === undefined ? {} : { ca: options.ca }),
      },
    });
    return { client, pool };
  };
  const signers = new Map<string, Signer>();
  const signerFor = (secret: string): Signer => {
    const signer = signers.get(secret) ?? signerOf(secret);
    signers.set(secret, signer);
    return signer;
  };

  return async (agent, request, signal) => {
    opened ??= open();
    const { client, pool } = await opened;
    const now = new Date();
    const outOfTime = AbortSignal.timeout(Math.min(agent.request_timeout_seconds * 1000, LONGEST_TIMER_MS));
    const { origin } = new URL(agent.url);
    try {
      const response = await client.request(agent.url, {
        method: 'POST',
        dispatcher: pool,
        signal: AbortSignal.any([signal, outOfTime]),
        // Redirects are not followed: they would carry the prompt and the link to another host.
        headers: {
          ...agent.headers,
          'content-type': 'application/json; charset=utf-8',
          accept: 'application/json',
          'webhook-id': request.id,
          'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
          'webhook-signature': signerFor(agent.secret)(request.id, now, request.body),
        },
        body: request.body,
      });
      return await answerOf(response, request, origin);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AgentFailure) throw error;
      if (outOfTime.aborted) {
        throw new AgentFailure(
          `${origin} has not answered within ${agent.request_timeout_seconds} s (one that needs longer answers 202 and calls back)`,
        );
      }
      throw new AgentFailure(`no answer from ${origin} (${codeOf(error)})`, { retryable: true });
    }
  };
}

async function answerOf(
  response: Dispatcher.ResponseData,
  { mayAnswerLater }: Request,
  origin: string,
): Promise<AgentAnswer> {
  const { statusCode: status, headers } = response;
  if (status === 200) return textOf(await bodyOf(response.body), origin);
  await response.body.dump({ limit: MAX_ANSWER_BYTES });
  if (status === 202) {
    if (mayAnswerLater) return { kind: 'later' };
    throw new AgentFailure(`${origin} answered 202, and has no link to call back`);
  }
  throw new AgentFailure(`${origin} answered ${status}`, {
    retryable: RETRYABLE.has(status),
    retryAfterMs: retryAfterMs(headers['retry-after']),
  });
}

function textOf(body: string | null, origin: string): AgentAnswer {
  if (body === null) {
    throw new AgentFailure(`the answer of ${origin} is longer than ${MAX_ANSWER_BYTES} bytes`);
  }
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new AgentFailure(`the answer of ${origin} is not JSON`);
  }
  const text = typeof value === 'object' && value !== null && 'text' in value ? value.text : undefined;
  if (typeof text === 'string') return { kind: 'text', text };
  throw new AgentFailure(`the answer of ${origin} is not {"text": "..."}`);
}

/** Null: it is too long; the rest was not read. */
async function bodyOf(body: Dispatcher.ResponseData['body']): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    // Leaving the loop destroys the connection.
    if (bytes > MAX_ANSWER_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function codeOf(error: unknown): string {
  const { code, name } = (typeof error === 'object' && error !== null ? error : {}) as {
    code?: unknown;
    name?: unknown;
  };
  return [code, name].find((word): word is string => typeof word === 'string') ?? 'error';
}
