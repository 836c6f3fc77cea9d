import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseConfig } from '@angelia/contracts';
import {
  callTool,
  callTools,
  eventually,
  fail,
  type ModelServer,
  type ModelStep,
  say,
  startModelServer,
  tooLong,
} from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Model, ModelFailure, type ModelMessage, type ModelRequest } from './model.ts';
import { provideModels } from './provide-models.ts';

/** One suite for every provider that is called over the network. Each must pass all of it with its own protocol. */

const KEY = 'sk-very-secret-key';
const terminal = {
  name: 'terminal',
  description: 'Runs a command.',
  parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
};
const hello: ModelRequest = {
  system: 'You test.',
  messages: [{ role: 'user', content: 'hello' }],
  tools: [],
};
const withTools: ModelRequest = { ...hello, tools: [terminal] };
const never = new AbortController().signal;

let server: ModelServer;

beforeEach(async () => {
  server = await startModelServer({ apiKey: KEY });
});
afterEach(async () => {
  await server.stop();
  expect(server.problems).toEqual([]);
});

async function modelOf(provider: string, over: Record<string, unknown> = {}): Promise<Model> {
  const main = {
    provider,
    base_url: server.baseUrl,
    model: 'm1',
    api_key: KEY,
    ...over,
  };
  const parsed = parseConfig({ models: { main }, agents: { default: { model: 'main' } } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const model = (await provideModels(parsed.config)).get('main');
  if (model === undefined) throw new Error('there is no model');
  return model;
}

const status = (code: number, body: string, providersCode?: string): ModelStep => ({
  kind: 'status',
  status: code,
  body,
  ...(providersCode === undefined ? {} : { code: providersCode }),
});
const streamError = (type: string): ModelStep => ({ kind: 'stream-error', text: 'half of', type });

const failureOf = async (call: Promise<unknown>): Promise<ModelFailure> => {
  const thrown = await call.then(
    () => new Error('it answered'),
    (error: unknown) => error,
  );
  if (!(thrown instanceof ModelFailure)) throw thrown;
  return thrown;
};

describe.each(['openai-compatible', 'openai', 'anthropic'])('a model of provider %s', (provider) => {
  let model: Model;
  beforeEach(async () => {
    model = await modelOf(provider);
  });
  const failing = async (step: ModelStep): Promise<ModelFailure> => {
    server.next(step);
    return failureOf(model.call(hello, never));
  };

  it('is asked in its protocol, and its whole answer and usage come back', async () => {
    server.next({
      kind: 'answer',
      text: 'a long answer that comes in pieces',
      usage: { input: 12, output: 7 },
    });
    expect(await model.call(hello, never)).toMatchObject({
      text: 'a long answer that comes in pieces',
      toolCalls: [],
      finishReason: 'stop',
      usage: { input_tokens: 12, output_tokens: 7 },
    });
    const [request] = server.requests;
    expect(request?.path).toBe(provider === 'anthropic' ? '/v1/messages' : '/v1/chat/completions');
    expect(request?.body).toMatchObject({
      model: 'm1',
      stream: true,
      messages: [
        { role: 'system', content: 'You test.' },
        { role: 'user', content: 'hello' },
      ],
    });
    expect(request?.body.tools).toBeUndefined();
  });

  it('does the same without streaming if the config says so', async () => {
    const plain = await modelOf(provider, { streaming: false, stall_seconds: 0.1 });
    server.next({ kind: 'answer', text: 'whole', delayMs: 300 }, callTool('terminal', { command: 'ls' }));
    expect(await plain.call(hello, never)).toMatchObject({
      text: 'whole',
      finishReason: 'stop',
      usage: { input_tokens: 10, output_tokens: 5 },
    });
    expect((await plain.call(withTools, never)).toolCalls).toMatchObject([
      { name: 'terminal', arguments: '{"command":"ls"}' },
    ]);
    expect(server.requests.map(({ body }) => body.stream ?? false)).toEqual([false, false]);
  });

  it('may answer with one document instead of a stream, and is not asked again', async () => {
    const whole = { kind: 'answer', whole: true, usage: { input: 7, output: 3 } } as const;
    server.next({ ...whole, text: 'all at once' });
    expect(await model.call(hello, never)).toMatchObject({
      text: 'all at once',
      toolCalls: [],
      finishReason: 'stop',
      usage: { input_tokens: 7, output_tokens: 3 },
    });
    server.next({
      ...whole,
      text: 'Looking.',
      toolCalls: [{ name: 'terminal', args: { command: 'ls' }, id: 'a1' }],
    });
    expect(await model.call(withTools, never)).toMatchObject({
      text: 'Looking.',
      toolCalls: [{ id: 'a1', name: 'terminal', arguments: '{"command":"ls"}' }],
    });
    expect(server.requests.map(({ body }) => body.stream)).toEqual([true, true]);
  });

  it('gets the tools, and asks for calls', async () => {
    server.next(
      callTools(
        { name: 'terminal', args: { command: 'make all' }, id: 'c1' },
        { name: 'terminal', args: {}, id: 'c2' },
      ),
    );
    expect(await model.call(withTools, never)).toMatchObject({
      text: '',
      finishReason: 'tool-calls',
      toolCalls: [
        { id: 'c1', name: 'terminal', arguments: '{"command":"make all"}' },
        { id: 'c2', name: 'terminal', arguments: '{}' },
      ],
    });
    expect(server.requests[0]?.body.tools).toMatchObject([
      {
        function: { name: 'terminal', description: 'Runs a command.', parameters: terminal.parameters },
      },
    ]);
  });

  it('may write text beside its calls', async () => {
    server.next({ kind: 'answer', text: 'Let me look.', toolCalls: [{ name: 'terminal', args: {} }] });
    expect(await model.call(withTools, never)).toMatchObject({
      text: 'Let me look.',
      toolCalls: [{ name: 'terminal' }],
    });
  });

  it.each(['{"command": "ls', 'rm -rf', '["ls"]'])(
    'may write arguments that are none: %s',
    async (written) => {
      server.next(callTool('terminal', written));
      const { toolCalls } = await model.call(withTools, never);
      expect(toolCalls).toMatchObject([{ name: 'terminal', arguments: written }]);
      // The transcript goes back to it with the error that it got; no provider refuses that.
      const call = toolCalls[0];
      await model.call(
        {
          ...withTools,
          messages: [
            ...hello.messages,
            { role: 'assistant', content: '', toolCalls },
            { role: 'tool', callId: call?.id ?? '', tool: 'terminal', content: 'The arguments are no JSON.' },
          ],
        },
        never,
      );
      const replayed = server.requests[1]?.body.messages.flatMap((message) => message.tool_calls ?? []) ?? [];
      expect(replayed.map(({ function: { arguments: args } }) => JSON.parse(args))).toEqual([
        { invalid_arguments: written },
      ]);
    },
  );

  it('gets the conversation with calls and results, each result with its call', async () => {
    const call = (id: string) => ({ id, name: 'terminal', arguments: '{"command":"ls"}' });
    const messages: ModelMessage[] = [
      { role: 'user', content: 'do it' },
      { role: 'assistant', content: 'Both.', toolCalls: [call('a'), call('b')] },
      { role: 'tool', callId: 'a', tool: 'terminal', content: 'result a' },
      { role: 'tool', callId: 'b', tool: 'terminal', content: 'result b' },
      { role: 'assistant', content: '', toolCalls: [call('c')] },
      { role: 'tool', callId: 'c', tool: 'terminal', content: '' },
      { role: 'assistant', content: 'done', toolCalls: [] },
      { role: 'user', content: 'and now?' },
    ];
    await model.call({ ...withTools, messages }, never);
    const sent = server.requests[0]?.body.messages.slice(1) ?? [];
    expect(sent.map(({ role, content, tool_call_id }) => [role, content, tool_call_id])).toEqual([
      ['user', 'do it', undefined],
      ['assistant', 'Both.', undefined],
      ['tool', 'result a', 'a'],
      ['tool', 'result b', 'b'],
      ['assistant', null, undefined],
      ['tool', '', 'c'],
      ['assistant', 'done', undefined],
      ['user', 'and now?', undefined],
    ]);
    expect(sent[1]?.tool_calls?.map(({ id, function: { arguments: args } }) => [id, args])).toEqual([
      ['a', '{"command":"ls"}'],
      ['b', '{"command":"ls"}'],
    ]);
  });

  it('accepts a conversation of another provider’s model, with empty answers and odd names', async () => {
    const id = `functions.terminal:0 ${'x'.repeat(50)}`;
    const messages: ModelMessage[] = [
      { role: 'user', content: '  ' },
      { role: 'assistant', content: '', toolCalls: [] },
      { role: 'user', content: 'again' },
      { role: 'assistant', content: ' ', toolCalls: [{ id, name: 'no such tool!', arguments: '' }] },
      { role: 'tool', callId: id, tool: 'no such tool!', content: 'There is no such tool.' },
    ];
    // The server refuses empty texts, bad ids and names, and arguments that are no object.
    expect((await model.call({ ...withTools, messages }, never)).text).not.toBe('');
    const [, answer, , asked, result] = server.requests[0]?.body.messages.slice(1) ?? [];
    expect(answer?.content).toBe('(no answer)');
    expect(result?.tool_call_id).toBe(asked?.tool_calls?.[0]?.id);
  });

  it('says why it stopped, and passes on its text until then', async () => {
    server.next({ kind: 'answer', text: 'as far as', finishReason: 'length' });
    expect(await model.call(hello, never)).toMatchObject({ text: 'as far as', finishReason: 'length' });
  });

  it.each(['length', 'content_filter'])(
    'has failed, not fallen silent, when nothing came: %s',
    async (finishReason) => {
      expect(await failing({ kind: 'answer', text: '', finishReason })).toMatchObject({
        code: 'refused',
        retryable: false,
      });
    },
  );

  it('may give an empty answer', async () => {
    server.next(say(''));
    expect(await model.call(hello, never)).toMatchObject({ text: '', finishReason: 'stop' });
  });

  it.each([408, 409, 425, 429, 500, 503, 529])('can be tried again after %i', async (status) => {
    expect(await failing(fail(status, '2'))).toMatchObject({
      code: 'unavailable',
      retryable: true,
      retryAfterMs: 2_000,
    });
  });

  it.each([400, 413, 422])('is not tried again after %i', async (status) => {
    expect(await failing(fail(status))).toMatchObject({ code: 'refused', reason: null, retryable: false });
  });

  it.each<[string, ModelStep, string]>([
    ['401', fail(401), 'unauthorized'],
    ['402', fail(402), 'unauthorized'],
    ['403', fail(403), 'unauthorized'],
    ['404', fail(404), 'unknown_model'],
    ['400 with the code of an unknown model', status(400, 'no', 'model_not_found'), 'unknown_model'],
    ['400 of DeepSeek', status(400, 'Model Not Exist'), 'unknown_model'],
    ['400 of Mistral', status(400, 'Invalid model: m1'), 'unknown_model'],
    ['400 of OpenRouter', status(400, 'm1 is not a valid model ID'), 'unknown_model'],
    ['429 without quota', status(429, 'no', 'insufficient_quota'), 'unauthorized'],
    ['an error in the stream', streamError('authentication_error'), 'unauthorized'],
    ['no permission in the stream', streamError('permission_error'), 'unauthorized'],
    ['no model in the stream', streamError('not_found_error'), 'unknown_model'],
  ])('is the operator’s to mend after %s', async (_what, step, code) => {
    expect(await failing(step)).toMatchObject({ code, reason: 'configuration', retryable: false });
  });

  it('is not taken for unknown because a refusal mentions a model', async () => {
    expect(await failing(status(400, 'invalid model parameters: temperature'))).toMatchObject({
      code: 'refused',
    });
  });

  it('does not follow a redirect, which would take the key with it', async () => {
    const elsewhere = await startModelServer();
    const location = `${elsewhere.baseUrl}/messages`;
    expect(await failing({ kind: 'status', status: 307, location })).toMatchObject({
      code: 'unknown_model',
      reason: 'configuration',
      retryable: false,
    });
    expect([...elsewhere.requests, ...elsewhere.problems]).toEqual([]);
    await elsewhere.stop();
  });

  it('reports that the conversation does not fit in its window', async () => {
    expect(await failing(tooLong())).toMatchObject({ code: 'too_long', retryable: false });
  });

  it('can be tried again after a reset connection, and when nothing listens', async () => {
    expect(await failing({ kind: 'reset' })).toMatchObject({ code: 'connect', retryable: true });
    const gone = await startModelServer();
    await gone.stop();
    const lost = await modelOf(provider, { base_url: gone.baseUrl });
    expect(await failureOf(lost.call(hello, never))).toMatchObject({ code: 'connect', retryable: true });
  });

  it.each(['cut-off', 'no-finish'] as const)(
    'does not pass off a part of an answer as the answer: %s',
    async (kind) => {
      expect(await failing({ kind, text: 'half of' })).toMatchObject({ code: 'cut_off', retryable: true });
    },
  );

  it('can be tried again after an error in the middle of an answer', async () => {
    const failure = await failing({ kind: 'stream-error', text: 'half of', type: 'overloaded_error' });
    expect(failure).toMatchObject({ code: 'unavailable', retryable: true });
    expect(failure.message).toContain('scripted error');
  });

  it('can be tried again after an answer that is not in its protocol', async () => {
    const failure = await failing({ kind: 'garbage' });
    expect(failure.retryable).toBe(true);
  });

  it.each([{ text: '' }, { text: 'a first token' }])(
    'is given up when it stalls ($text)',
    async ({ text }) => {
      const stalling = await modelOf(provider, { stall_seconds: 0.3 });
      server.next({ kind: 'stall', text });
      const failure = await failureOf(stalling.call(hello, never));
      expect(failure).toMatchObject({ code: 'stall', retryable: true });
      // On a slow machine it may be given up before it arrives.
      await eventually(() => server.requests.every(({ aborted }) => aborted), {
        describe: 'the request was closed',
      });
    },
  );

  it('may be slow while tokens come, up to the time limit of the call', async () => {
    const slow = await modelOf(provider, { stall_seconds: 2.5 });
    server.next({ kind: 'answer', text: 'x'.repeat(96), tokenDelayMs: 250 });
    expect((await slow.call(hello, never)).text).toHaveLength(96);
    const hurried = await modelOf(provider, { timeout_seconds: 0.4 });
    server.next({ kind: 'answer', text: 'x'.repeat(640), tokenDelayMs: 100 });
    expect(await failureOf(hurried.call(hello, never))).toMatchObject({ code: 'timeout', retryable: true });
  });

  it('may have a time limit longer than the longest timer', async () => {
    const patient = await modelOf(provider, { stall_seconds: 1e7, timeout_seconds: 1e7 });
    server.next(say('in time', 50));
    expect((await patient.call(hello, never)).text).toBe('in time');
  });

  it('is disconnected when the run is aborted, and the reason of the abort is thrown', async () => {
    server.next(say('too late', 10_000));
    const abort = new AbortController();
    const call = model.call(hello, abort.signal);
    await eventually(() => server.requests.length === 1);
    abort.abort('drain');
    await expect(call).rejects.toBe('drain');
    await eventually(() => server.requests[0]?.aborted, { describe: 'the request was closed' });
  });

  it('is not asked by a run that was stopped before', async () => {
    await expect(model.call(hello, AbortSignal.abort('drain'))).rejects.toBe('drain');
    expect(server.requests).toEqual([]);
  });

  it('keeps the key and headers out of failure messages', async () => {
    const headers = {
      'x-tenant-token': 'tenant-token-1',
      'x-proxy-auth': 'Bearer proxy-key-1',
      'x-stage': 'e',
    };
    const secretive = await modelOf(provider, { headers });
    const quoted = `${KEY}, tenant-token-1, proxy-key-1`;
    server.next({ kind: 'status', status: 401, body: `Incorrect API key provided: ${quoted}` });
    const failure = await failureOf(secretive.call(hello, never));
    expect(server.requests[0]?.headers['x-tenant-token']).toBe('tenant-token-1');
    expect(failure.message).toContain('Incorrect API key');
    expect(JSON.stringify(failure) + failure.message + failure.stack).not.toMatch(
      /sk-very|tenant-token-1|proxy-key-1/,
    );
  });

  it('gets no key if the config has none, whatever the environment holds', async () => {
    const open = await startModelServer();
    const environment = process.env;
    process.env = { ...environment, OPENAI_API_KEY: 'sk-env', ANTHROPIC_API_KEY: 'sk-env' };
    const keyless = await modelOf(provider, { base_url: open.baseUrl, api_key: undefined });
    await keyless.call(hello, never);
    process.env = environment;
    expect(open.requests[0]?.headers).not.toHaveProperty('authorization');
    expect(open.requests[0]?.headers).not.toHaveProperty('x-api-key');
    await open.stop();
  });

  it('answers with at most as many tokens as the config says', async () => {
    const short = await modelOf(provider, { max_output_tokens: 77 });
    await short.call(hello, never);
    expect(server.requests[0]?.body.max_tokens).toBe(77);
  });
});

describe('an anthropic model', () => {
  it('has marks on what it may read from its cache: the system prompt and the conversation so far', async () => {
    const model = await modelOf('anthropic');
    await model.call(withTools, never);
    expect(server.requests[0]?.raw).toMatchObject({
      system: [{ text: 'You test.', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: [{ text: 'hello', cache_control: { type: 'ephemeral' } }] }],
    });
    expect(server.requests[0]?.body.max_tokens).toBeGreaterThan(0);
  });
});

describe('a server that follows its protocol only in part', () => {
  let lax: Server;
  let body: string;
  const chunk = (choice: object) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;

  beforeEach(async () => {
    lax = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1');
    await once(lax, 'listening');
  });
  afterEach(() => {
    lax.closeAllConnections();
    lax.close();
  });
  const laxModel = () =>
    modelOf('openai-compatible', { base_url: `http://127.0.0.1:${(lax.address() as AddressInfo).port}/v1` });

  it('and does not count tokens: they are estimated, so that budgets work', async () => {
    body = chunk({ delta: { content: 'x'.repeat(400) }, finish_reason: 'stop' });
    const { usage } = await (await laxModel()).call(hello, never);
    expect(usage.input_tokens).toBeGreaterThan(5);
    expect(usage.output_tokens).toBeGreaterThan(90);
  });

  it('and sends a document without a finish reason: the answer is complete nevertheless', async () => {
    body = JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'all of it' } }] });
    expect(await (await laxModel()).call(hello, never)).toMatchObject({ text: 'all of it' });
  });

  it('and writes something unreadable: the failure does not quote it', async () => {
    for (const written of ['{"choices": "of a private kind"}', 'of a private kind']) {
      body = `data: ${written}\n\n`;
      const failure = await failureOf((await laxModel()).call(hello, never));
      expect(failure).toMatchObject({ code: 'protocol', retryable: true });
      expect(failure.message).not.toContain('private');
    }
  });

  it('and asks for thousands of calls: the answer is refused', async () => {
    const call = (_: unknown, index: number) => ({
      index,
      id: `c${index}`,
      function: { name: 'terminal', arguments: '{}' },
    });
    body = chunk({ delta: { tool_calls: Array.from({ length: 1000 }, call) }, finish_reason: 'tool_calls' });
    const failure = await failureOf((await laxModel()).call(withTools, never));
    expect(failure).toMatchObject({ code: 'protocol', retryable: true });
  });

  it('and never ends: it is disconnected', async () => {
    body = chunk({ delta: { content: 'again and again '.repeat(1000) } }).repeat(300);
    const failure = await failureOf((await laxModel()).call(hello, never));
    expect(failure.message).toContain('more than 4000000 characters');
    // A document that is too large for hundreds of runs at once is not read either.
    body = `{"choices": [{"message": {"content": "${'x'.repeat(65 * 1024 * 1024)}"}}]}`;
    expect(await failureOf((await laxModel()).call(hello, never))).toMatchObject({ retryable: true });
  });
});
