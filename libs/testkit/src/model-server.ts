import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type ChatRequest, problemsOf } from './chat-request.ts';
import { listen, readBody } from './http-server.ts';

/** What the model does with one request. */
export type ModelStep =
  | {
      readonly kind: 'answer';
      readonly text: string;
      /** Before the first byte. */
      readonly delayMs?: number;
      /** Between the pieces of a streamed answer. */
      readonly tokenDelayMs?: number;
      readonly finishReason?: string;
      readonly usage?: { readonly input: number; readonly output: number };
    }
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: string; readonly body?: string }
  /** The connection is reset before any answer. */
  | { readonly kind: 'reset' }
  /** Headers and a first piece of the answer (when `text` is not empty), then silence on an open connection. */
  | { readonly kind: 'stall'; readonly text?: string }
  /** A first piece of the answer, then the connection is cut. */
  | { readonly kind: 'cut-off'; readonly text: string };

export const say = (text: string, delayMs = 0): ModelStep => ({ kind: 'answer', text, delayMs });
export const fail = (status: number, retryAfter?: string): ModelStep => ({
  kind: 'status',
  status,
  ...(retryAfter === undefined ? {} : { retryAfter }),
});

export interface ModelRequest {
  readonly at: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: ChatRequest;
  /** Content of the last user message: tells sessions apart in a test. */
  readonly input: string;
  /** Set when the client gave up before the answer was complete. */
  aborted: boolean;
  answered: boolean;
}

export interface ModelServer {
  /** For `base_url`: ends in `/v1`. */
  readonly baseUrl: string;
  readonly requests: readonly ModelRequest[];
  /** Requests that are not what the protocol documents; a test ends with this empty. */
  readonly problems: readonly string[];
  inFlight(): number;
  /** What the next requests get, one each. */
  next(...steps: ModelStep[]): void;
  /** What all others get. Default: `answer to: <input>`. */
  behave(step: ModelStep | ((request: ModelRequest) => ModelStep)): void;
  stop(): Promise<void>;
}

/** A model provider stand-in over real HTTP: the OpenAI chat-completions protocol, streaming and not. */
export async function startModelServer(
  options: { apiKey?: string; port?: number } = {},
): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const problems: string[] = [];
  const queued: ModelStep[] = [];
  let inFlight = 0;
  let always: ModelStep | ((request: ModelRequest) => ModelStep) = (request) =>
    say(`answer to: ${request.input}`);

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.parse((await readBody(incoming)).toString('utf8')) as ChatRequest;
    const found = problemsOf(incoming, body);
    if (options.apiKey !== undefined && incoming.headers.authorization !== `Bearer ${options.apiKey}`) {
      return refuse(response, 401, 'Incorrect API key provided');
    }
    if (found.length > 0) {
      problems.push(...found);
      return refuse(response, 400, found.join('; '));
    }
    const request: ModelRequest = {
      at: performance.now(),
      headers: incoming.headers,
      body,
      input: lastUserText(body),
      aborted: false,
      answered: false,
    };
    requests.push(request);
    response.on('close', () => {
      if (!response.writableFinished) request.aborted = true;
    });
    const step = queued.shift() ?? (typeof always === 'function' ? always(request) : always);
    await perform(step, request, incoming, response);
  };

  const listening = await listen((incoming, response) => {
    inFlight += 1;
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
    next: (...steps) => void queued.push(...steps),
    behave(step) {
      always = step;
    },
    stop: listening.stop,
  };
}

async function perform(
  step: ModelStep,
  request: ModelRequest,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  switch (step.kind) {
    case 'reset':
      incoming.socket.resetAndDestroy();
      return;
    case 'status':
      if (step.retryAfter !== undefined) response.setHeader('retry-after', step.retryAfter);
      refuse(response, step.status, step.body ?? 'scripted failure');
      return;
    case 'stall':
      begin(response, request);
      if (step.text) response.write(chunk(request, { role: 'assistant', content: step.text }, null));
      return;
    case 'cut-off':
      begin(response, request);
      response.write(chunk(request, { role: 'assistant', content: step.text }, null), () =>
        incoming.socket.destroy(),
      );
      return;
    case 'answer':
      // A client that left is not answered: a test can tell by `answered` that nobody waited for it.
      if (step.delayMs) await pause(step.delayMs, undefined, { ref: false });
      if (request.aborted) return;
      await (request.body.stream ? answerStreamed : answerWhole)(step, request, response);
  }
}

type Answer = Extract<ModelStep, { kind: 'answer' }>;

async function answerStreamed(step: Answer, request: ModelRequest, response: ServerResponse): Promise<void> {
  begin(response, request);
  const pieces = step.text.match(/[\s\S]{1,16}/g) ?? [];
  for (const [index, piece] of pieces.entries()) {
    if (index > 0 && step.tokenDelayMs) await pause(step.tokenDelayMs, undefined, { ref: false });
    if (request.aborted) return;
    response.write(chunk(request, { role: 'assistant', content: piece }, null));
  }
  response.write(chunk(request, {}, step.finishReason ?? 'stop'));
  if (request.body.stream_options?.include_usage) {
    response.write(event({ ...head(request, 'chat.completion.chunk'), choices: [], usage: usageOf(step) }));
  }
  response.end('data: [DONE]\n\n');
  request.answered = true;
}

async function answerWhole(step: Answer, request: ModelRequest, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' }).end(
    JSON.stringify({
      ...head(request, 'chat.completion'),
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: step.text },
          finish_reason: step.finishReason ?? 'stop',
        },
      ],
      usage: usageOf(step),
    }),
  );
  request.answered = true;
}

function begin(response: ServerResponse, request: ModelRequest): void {
  response.writeHead(200, {
    'content-type': request.body.stream ? 'text/event-stream' : 'application/json',
    'cache-control': 'no-cache',
  });
  response.flushHeaders();
}

function chunk(request: ModelRequest, delta: object, finishReason: string | null): string {
  return event({
    ...head(request, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  });
}

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

const head = (request: ModelRequest, object: string) => ({
  id: 'chatcmpl-test',
  object,
  created: Math.floor(Date.now() / 1000),
  model: request.body.model,
});

function usageOf(step: Answer) {
  const { input, output } = step.usage ?? { input: 10, output: 5 };
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { message, type: 'test_error', param: null, code: null } }));
}

function lastUserText(body: ChatRequest): string {
  const last = body.messages.findLast((message) => message.role === 'user');
  if (typeof last?.content === 'string') return last.content;
  return (last?.content ?? []).map((part) => part.text ?? '').join('');
}
