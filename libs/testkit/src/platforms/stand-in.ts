import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { listen, readBody } from '../network/http-server.ts';
import type { WebSocketEndpoint } from '../network/websocket-server.ts';

/** A completely read request. */
export interface PlatformRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly raw: string;
  /** For bodies that are no text. */
  readonly bytes: Buffer;
  /** Parsed JSON. Undefined if there is none or it is invalid. */
  readonly body: unknown;
}

export interface PlatformAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * What the stand-in does with a message. `reset`: it cuts the connection before it reads anything. `hang`: it reads the
 * message, does not take it and does not answer. `cut-off`: it takes the message, and the sender gets no response.
 * `garbled`: it takes the message, and the response is not valid. `answer`: it answers this and takes nothing, `after` something
 * has happened.
 */
export type PlatformBehaviour =
  | { readonly kind: 'take' }
  | { readonly kind: 'answer'; readonly answer: PlatformAnswer; readonly after?: Promise<unknown> }
  | { readonly kind: 'reset' }
  | { readonly kind: 'hang' }
  | { readonly kind: 'cut-off' }
  | { readonly kind: 'garbled' };

export interface StandIn {
  readonly url: string;
  readonly port: number;
  /** Every completely read request, in the order of arrival. */
  readonly requests: readonly PlatformRequest[];
  /** Requests that break the documented rules of the platform. Must be empty at the end of a test. */
  readonly problems: readonly string[];
  /** What to do with messages from now on. */
  behave(behaviour: PlatformBehaviour): void;
  /** What to do with the next messages, one each, before `behave` applies again. */
  next(...behaviours: PlatformBehaviour[]): void;
  /** What to do with requests that send no message (look-ups) from now on. */
  behaveToReads(behaviour: PlatformBehaviour): void;
  stop(): Promise<void>;
}

interface StandInPlatform {
  /** Whether the request sends or changes a message, so that `behave` applies. To others `behaveToReads` applies. */
  isMessage(request: Pick<PlatformRequest, 'method' | 'path'>): boolean;
  /** The platform has WebSockets at the same address. */
  readonly webSockets?: WebSocketEndpoint;
  /** Checks the request against the documentation, stores the message and answers as documented. */
  answer(request: PlatformRequest): PlatformAnswer | Promise<PlatformAnswer>;
}

/** Thrown by a check inside `answer`. The sender gets this answer, and the request becomes an entry in `problems`. */
export class Malformed extends Error {
  readonly answer: PlatformAnswer;
  constructor(problem: string, answer: PlatformAnswer) {
    super(problem);
    this.answer = answer;
  }
}

/** The HTTP API of a platform on its own port. It can fail in every way that a platform fails. */
export async function startStandIn(platform: StandInPlatform, port = 0): Promise<StandIn> {
  const requests: PlatformRequest[] = [];
  const problems: string[] = [];
  const queued: PlatformBehaviour[] = [];
  let always: PlatformBehaviour = { kind: 'take' };
  let reads: PlatformBehaviour = { kind: 'take' };

  const answerOf = async (request: PlatformRequest): Promise<PlatformAnswer> => {
    try {
      return await platform.answer(request);
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
    const bytes = await readBody(incoming);
    const raw = bytes.toString('utf8');
    const request: PlatformRequest = {
      ...head,
      bytes,
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
        await behaviour.after;
        respond(response, behaviour.answer);
        return;
      case 'cut-off':
        await answerOf(request);
        incoming.socket.destroy();
        return;
      case 'garbled':
        await answerOf(request);
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"cut');
        return;
      case 'take':
        respond(response, await answerOf(request));
    }
  };

  const listening = await listen((request, response) => {
    take(request, response).catch((error: unknown) => {
      problems.push(`${request.method} ${request.url}: ${String(error)}`);
      response.writeHead(500).end();
    });
  }, port);
  const { webSockets } = platform;
  if (webSockets !== undefined) listening.server.on('upgrade', webSockets.upgrade);
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
    async stop() {
      webSockets?.cutAll();
      await listening.stop();
    },
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
