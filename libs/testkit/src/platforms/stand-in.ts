import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { listen, readBody } from '../network/http-server.ts';

/** A request that was read to its end. */
export interface PlatformRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly raw: string;
  /** Parsed JSON; undefined when there is none or it cannot be read. */
  readonly body: unknown;
}

export interface PlatformAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * What becomes of a message. `reset`: the connection is cut before anything is read. `hang`: read, not taken, and no
 * answer. `cut-off`: taken, and the sender never learns it. `garbled`: taken, and the answer cannot be read.
 */
export type PlatformBehaviour =
  | { readonly kind: 'take' }
  | { readonly kind: 'answer'; readonly answer: PlatformAnswer }
  | { readonly kind: 'reset' }
  | { readonly kind: 'hang' }
  | { readonly kind: 'cut-off' }
  | { readonly kind: 'garbled' };

export interface StandIn {
  readonly url: string;
  readonly port: number;
  /** Every request that was read to its end, in the order of arrival. */
  readonly requests: readonly PlatformRequest[];
  /** What the platform's documentation forbids and a request did; a test ends with this empty. */
  readonly problems: readonly string[];
  /** What becomes of messages from now on. */
  behave(behaviour: PlatformBehaviour): void;
  /** What becomes of the next messages, one each, before `behave` counts again. */
  next(...behaviours: PlatformBehaviour[]): void;
  /** What becomes of requests that send no message (look-ups) from now on. */
  behaveToReads(behaviour: PlatformBehaviour): void;
  stop(): Promise<void>;
}

export interface StandInPlatform {
  /** Requests that behaviours are for: those that send or change a message. Others have `behaveToReads`. */
  isMessage(request: Pick<PlatformRequest, 'method' | 'path'>): boolean;
  /** Checks the request as documented, keeps what it takes, answers as documented. */
  answer(request: PlatformRequest): PlatformAnswer;
}

/** Thrown inside `answer` by a check: it is answered so, and kept as a problem of the sender. */
export class Malformed extends Error {
  readonly answer: PlatformAnswer;
  constructor(problem: string, answer: PlatformAnswer) {
    super(problem);
    this.answer = answer;
  }
}

/** A platform's HTTP API on a port of its own, that can fail in every way a platform fails. */
export async function startStandIn(platform: StandInPlatform, port = 0): Promise<StandIn> {
  const requests: PlatformRequest[] = [];
  const problems: string[] = [];
  const queued: PlatformBehaviour[] = [];
  let always: PlatformBehaviour = { kind: 'take' };
  let reads: PlatformBehaviour = { kind: 'take' };

  const answerOf = (request: PlatformRequest): PlatformAnswer => {
    try {
      return platform.answer(request);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      problems.push(`${request.method} ${request.path}: ${error.message}`);
      return error.answer;
    }
  };

  const take = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(incoming.url ?? '/', 'http://stand-in');
    const head = { method: incoming.method ?? 'GET', path: url.pathname };
    const behaviour: PlatformBehaviour = platform.isMessage(head) ? (queued.shift() ?? always) : reads;
    if (behaviour.kind === 'reset') {
      incoming.socket.resetAndDestroy();
      return;
    }
    const raw = (await readBody(incoming)).toString('utf8');
    const request: PlatformRequest = {
      ...head,
      query: url.searchParams,
      headers: incoming.headers,
      raw,
      body: parsed(raw),
    };
    requests.push(request);
    switch (behaviour.kind) {
      case 'hang':
        return;
      case 'answer':
        respond(response, behaviour.answer);
        return;
      case 'cut-off':
        answerOf(request);
        incoming.socket.destroy();
        return;
      case 'garbled':
        answerOf(request);
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"cut');
        return;
      case 'take':
        respond(response, answerOf(request));
    }
  };

  const listening = await listen((request, response) => {
    take(request, response).catch((error: unknown) => {
      problems.push(`${request.method} ${request.url}: ${String(error)}`);
      response.writeHead(500).end();
    });
  }, port);
  return {
    url: listening.url,
    port: listening.port,
    requests,
    problems,
    behave(behaviour) {
      always = behaviour;
    },
    next(...behaviours) {
      queued.push(...behaviours);
    },
    behaveToReads(behaviour) {
      reads = behaviour;
    },
    stop: listening.stop,
  };
}

function respond(response: ServerResponse, { status, body, headers }: PlatformAnswer): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body));
}

function parsed(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}
