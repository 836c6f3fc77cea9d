import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { listen, readBody } from '../network/http-server.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import { chatCompletions } from './chat-completions.ts';
import type { ChatRequest, ModelAnswer, ModelProtocol, ThoughtCall, Thoughts } from './model-protocol.ts';

/** What the model does with one request. */
export type ModelStep =
  | {
      readonly kind: 'answer';
      readonly text: string;
      readonly toolCalls?: readonly ToolCallStep[];
      /** Before the first byte. */
      readonly delayMs?: number;
      /** Between the pieces of a streamed answer. */
      readonly tokenDelayMs?: number;
      readonly finishReason?: string;
      readonly usage?: { readonly input: number; readonly output: number };
      /** What it thinks first, and wants back with the results of its calls. */
      readonly thoughts?: Thoughts;
      /** True: one document even if a stream was requested, like a server that cannot stream. */
      readonly whole?: boolean;
    }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly retryAfter?: string;
      readonly body?: string;
      /** The provider's own code, such as `context_length_exceeded`. */
      readonly code?: string;
      /** The target of a redirect. */
      readonly location?: string;
    }
  /** Resets the connection before any answer. */
  | { readonly kind: 'reset' }
  /** Sends the headers and a first piece of the answer (if `text` is not empty), then nothing on an open connection. */
  | { readonly kind: 'stall'; readonly text?: string }
  /** Sends a first piece of the answer, then cuts the connection. */
  | { readonly kind: 'cut-off'; readonly text: string }
  /** Sends a first piece of the answer, then ends the response without saying that the answer is complete. */
  | { readonly kind: 'no-finish'; readonly text: string }
  /** Sends a first piece of the answer, then an error event. */
  | {
      readonly kind: 'stream-error';
      readonly text: string;
      readonly type: string;
      readonly message?: string;
    }
  /** Answers 200 with something that is not the protocol. */
  | { readonly kind: 'garbage' };

export interface ToolCallStep {
  readonly name: string;
  /** A string is sent as the model would write it. It need not be JSON. */
  readonly args: Readonly<Record<string, unknown>> | string;
  /** Default: unique in this server. */
  readonly id?: string;
}

export const say = (text: string, delayMs = 0): ModelStep => ({ kind: 'answer', text, delayMs });
export const callTool = (name: string, args: ToolCallStep['args'], id?: string): ModelStep =>
  callTools({ name, args, ...(id === undefined ? {} : { id }) });
/** Several calls in one step. */
export const callTools = (...toolCalls: ToolCallStep[]): ModelStep => ({
  kind: 'answer',
  text: '',
  toolCalls,
});
export const fail = (status: number, retryAfter?: string): ModelStep => ({
  kind: 'status',
  status,
  ...(retryAfter === undefined ? {} : { retryAfter }),
});
/** OpenAI reports this by the code, Anthropic by the message. */
export const tooLong = (): ModelStep => ({
  kind: 'status',
  status: 400,
  body: 'prompt is too long: 200001 tokens > 200000 maximum',
  code: 'context_length_exceeded',
});

export interface ModelRequest {
  readonly at: number;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** In the shape of chat-completions, even for a request in Anthropic's protocol. */
  readonly body: ChatRequest;
  /** The original body. */
  readonly raw: unknown;
  /** Content of the last user message. Tests tell sessions apart by it. */
  readonly input: string;
  /** Contents of the tool messages after it: the results so far. */
  readonly results: readonly string[];
  /** When the exchange ended, whoever ended it. Null while it goes on. Same clock as `at`. */
  endedAt: number | null;
  /** The client gave up before the answer was complete. */
  aborted: boolean;
  answered: boolean;
}

type ModelBehaviour = (request: ModelRequest) => ModelStep | Promise<ModelStep>;

export interface ModelServer {
  /** For `base_url`: ends in `/v1`. */
  readonly baseUrl: string;
  readonly requests: readonly ModelRequest[];
  /** Requests that break the documented protocol. Must be empty at the end of a test. */
  readonly problems: readonly string[];
  inFlight(): number;
  /** The most that were in flight at once, since the start. */
  mostInFlight(): number;
  /** The answers to the next requests, one each. */
  next(...steps: ModelStep[]): void;
  /** The answer to all other requests. A function may be asynchronous. Default: `answer to: <input>`. */
  behave(step: ModelStep | ModelBehaviour): void;
  stop(): Promise<void>;
}

const PROTOCOLS: readonly ModelProtocol[] = [chatCompletions, anthropicMessages];

/**
 * A stand-in for a model provider over real HTTP: OpenAI's chat-completions and Anthropic's messages, with and without
 * streaming. It refuses what the real ones refuse and can fail in every way that they fail.
 */
export async function startModelServer(
  options: { apiKey?: string; port?: number } = {},
): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const problems: string[] = [];
  const queued: ModelStep[] = [];
  let inFlight = 0;
  let mostInFlight = 0;
  let calls = 0;
  let always: ModelStep | ModelBehaviour = (request) => say(`answer to: ${request.input}`);

  const thoughtCalls = new Map<string, ThoughtCall>();

  const answerOf = (step: Answer, model: string): ModelAnswer => {
    const toolCalls = (step.toolCalls ?? []).map(({ name, args, id }) => ({
      id: id ?? `call_${++calls}`,
      name,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    }));
    const { thoughts } = step;
    for (const [index, { id }] of toolCalls.entries()) {
      if (thoughts !== undefined) thoughtCalls.set(id, { model, thoughts, isFirst: index === 0 });
    }
    return {
      text: step.text,
      toolCalls,
      usage: step.usage ?? { input: 10, output: 5 },
      ...(step.finishReason === undefined ? {} : { finishReason: step.finishReason }),
      ...(thoughts === undefined ? {} : { thoughts }),
    };
  };

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (incoming.method === 'GET' && incoming.url?.split('?')[0] === '/v1/models') {
      const refused = PROTOCOLS.every(
        ({ keyProblem }) => keyProblem(incoming, options.apiKey ?? '') !== null,
      );
      if (options.apiKey !== undefined && refused)
        return refuse(chatCompletions, response, 401, 'the key is not known');
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'm1' }, { id: 'm2' }] }));
      return;
    }
    const raw: unknown = JSON.parse((await readBody(incoming)).toString('utf8'));
    const protocol = PROTOCOLS.find(({ path }) => path === incoming.url);
    if (protocol === undefined || incoming.method !== 'POST') {
      problems.push(`${incoming.method} ${incoming.url}`);
      response.writeHead(404).end();
      return;
    }
    const keyProblem = options.apiKey === undefined ? null : protocol.keyProblem(incoming, options.apiKey);
    if (keyProblem !== null) return refuse(protocol, response, 401, keyProblem);
    const found = protocol.problems(incoming, raw, thoughtCalls);
    if (found.length > 0) {
      problems.push(...found);
      return refuse(protocol, response, 400, found.join('; '));
    }
    const body = protocol.asChat(raw);
    const request: ModelRequest = {
      at: performance.now(),
      path: protocol.path,
      headers: incoming.headers,
      body,
      raw,
      input: lastUserText(body),
      results: resultsOf(body),
      endedAt: null,
      aborted: false,
      answered: false,
    };
    requests.push(request);
    response.on('close', () => {
      request.endedAt = performance.now();
      if (!response.writableFinished) request.aborted = true;
    });
    const step = queued.shift() ?? (typeof always === 'function' ? await always(request) : always);
    await perform(step, { protocol, request, incoming, response, answerOf });
  };

  const listening = await listen((incoming, response) => {
    inFlight += 1;
    mostInFlight = Math.max(mostInFlight, inFlight);
    response.on('close', () => {
      inFlight -= 1;
    });
    handle(incoming, response).catch((error: unknown) => {
      problems.push(String(error));
      incoming.socket.destroy();
    });
  }, options.port);

  return {
    baseUrl: `${listening.url}/v1`,
    requests,
    problems,
    inFlight: () => inFlight,
    mostInFlight: () => mostInFlight,
    next: (...steps) => void queued.push(...steps),
    behave(step) {
      always = step;
    },
    stop: listening.stop,
  };
}

type Answer = Extract<ModelStep, { kind: 'answer' }>;

interface Exchange {
  readonly protocol: ModelProtocol;
  readonly request: ModelRequest;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly answerOf: (step: Answer, model: string) => ModelAnswer;
}

async function perform(step: ModelStep, exchange: Exchange): Promise<void> {
  const { protocol, request, incoming, response } = exchange;
  switch (step.kind) {
    case 'reset':
      incoming.socket.resetAndDestroy();
      return;
    case 'status':
      if (step.retryAfter !== undefined) response.setHeader('retry-after', step.retryAfter);
      if (step.location !== undefined) response.setHeader('location', step.location);
      refuse(protocol, response, step.status, step.body ?? 'scripted failure', step.code);
      return;
    case 'garbage':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome to the proxy</html>');
      return;
    case 'stall':
      await sendFirstTokens(step.text ?? '', exchange);
      return;
    case 'cut-off':
      await sendFirstTokens(step.text, exchange);
      incoming.socket.destroy();
      return;
    case 'no-finish':
      await sendFirstTokens(step.text, exchange);
      response.end();
      return;
    case 'stream-error':
      await sendFirstTokens(step.text, exchange);
      response.end(protocol.streamedError(step.message ?? 'scripted error', step.type));
      return;
    case 'answer':
      // A client that has gone gets no answer. `answered` shows a test that nobody waited.
      if (step.delayMs) await pause(step.delayMs, undefined, { ref: false });
      if (request.aborted) return;
      await (request.body.stream && !step.whole ? answerStreamed : answerWhole)(step, exchange);
  }
}

/** Sends the headers and the first tokens of an answer. Only the headers if there are no tokens. */
async function sendFirstTokens(
  text: string,
  { protocol, request, response, answerOf }: Exchange,
): Promise<void> {
  const { head, tokens } = protocol.streamed(
    request.body,
    answerOf({ kind: 'answer', text }, request.body.model),
  );
  sendHeaders(response, request);
  if (text === '') return;
  await new Promise<void>((resolve) => {
    response.write([...head, ...tokens].join(''), () => resolve());
  });
}

async function answerStreamed(
  step: Answer,
  { protocol, request, response, answerOf }: Exchange,
): Promise<void> {
  const { head, tokens, tail } = protocol.streamed(request.body, answerOf(step, request.body.model));
  sendHeaders(response, request);
  for (const piece of head) response.write(piece);
  for (const [index, token] of tokens.entries()) {
    if (index > 0 && step.tokenDelayMs) await pause(step.tokenDelayMs, undefined, { ref: false });
    if (request.aborted) return;
    response.write(token);
  }
  response.end(tail.join(''));
  request.answered = true;
}

async function answerWhole(step: Answer, { protocol, request, response, answerOf }: Exchange): Promise<void> {
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify(protocol.whole(request.body, answerOf(step, request.body.model))));
  request.answered = true;
}

function sendHeaders(response: ServerResponse, request: ModelRequest): void {
  response.writeHead(200, {
    'content-type': request.body.stream ? 'text/event-stream' : 'application/json',
    'cache-control': 'no-cache',
  });
  response.flushHeaders();
}

function refuse(
  protocol: ModelProtocol,
  response: ServerResponse,
  status: number,
  message: string,
  code?: string,
): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify(protocol.error(status, message, code)));
}

function lastUserText(body: ChatRequest): string {
  const last = body.messages.findLast((message) => message.role === 'user');
  return contentText(last?.content);
}

function resultsOf({ messages }: ChatRequest): string[] {
  const user = messages.findLastIndex(({ role }) => role === 'user');
  return messages
    .slice(user + 1)
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => contentText(content));
}

function contentText(content: ChatRequest['messages'][number]['content'] | undefined): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? '').join('');
}
