import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseConfig } from '@angelia/contracts';
import { eventually } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Model, ModelFailure, type ModelRequest } from './model.ts';
import { provideModels } from './provide-models.ts';

/**
 * What servers with the chat-completions protocol do to it, byte by byte. Our own client (`openai-compatible`) and the AI
 * SDK's (`openai`) must both bear it. What every provider must do is in remote-models.int.test.ts.
 */

const request: ModelRequest = {
  system: 'You test.',
  messages: [{ role: 'user', content: 'hello' }],
  tools: [{ name: 'act', description: 'Acts.', parameters: { type: 'object' } }],
};
const never = new AbortController().signal;

let server: Server;
/** What the server does with the next request. */
let respond: (response: ServerResponse) => void;
let connections: number;

beforeEach(async () => {
  connections = 0;
  server = createServer((incoming, response) => {
    incoming.resume();
    incoming.on('end', () => respond(response));
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function modelOf(provider: string, over: Record<string, unknown> = {}): Promise<Model> {
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const main = { provider, base_url, model: 'm1', api_key: 'sk-key', ...over };
  const parsed = parseConfig({ models: { main }, agents: { default: { model: 'main' } } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return (await provideModels(parsed.config)).get('main') as Model;
}

const event = (data: object | string): string =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): string =>
  event({ id: 'c1', model: 'm1-2026', choices: [{ index: 0, delta, finish_reason }], ...more });
const callChunk = (...tool_calls: object[]): string => chunk({ tool_calls });
const stop = chunk({}, 'stop');
const callsAsked = chunk({}, 'tool_calls');
const DONE = event('[DONE]');

const answer = (...parts: (string | Buffer)[]) =>
  streamed((response) => {
    for (const part of parts) response.write(part);
    response.end();
  });
const streamed = (write: (response: ServerResponse) => void) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  write(response);
};
const document = (body: object) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

async function failureOf(call: Promise<unknown>): Promise<ModelFailure> {
  const thrown = await call.then(
    () => new Error('it answered'),
    (error: unknown) => error,
  );
  if (!(thrown instanceof ModelFailure)) throw thrown;
  return thrown;
}

describe.each(['openai-compatible', 'openai'])('chat-completions with provider %s', (provider) => {
  let model: Model;
  beforeEach(async () => {
    model = await modelOf(provider);
  });
  const ask = (reply: typeof respond) => {
    respond = reply;
    return model.call(request, never);
  };

  describe('a stream', () => {
    it('may be cut anywhere, also within a character', async () => {
      const bytes = Buffer.from(
        `${chunk({ content: 'für 漢字 ' })}${chunk({ content: '😀' })}${stop}${DONE}`,
      );
      const reply = await ask(
        streamed((response) => {
          const send = (at: number) => {
            response.write(bytes.subarray(at, at + 1));
            if (at + 1 < bytes.length) setImmediate(send, at + 1);
            else response.end();
          };
          send(0);
        }),
      );
      expect(reply.text).toBe('für 漢字 😀');
    });

    it('may have carriage returns, comments and named events', async () => {
      const lines = `: keep-alive\n\nevent: message\nid: 1\n${chunk({ content: 'hi' })}: more\n${stop}${DONE}`;
      expect((await ask(answer(lines.replaceAll('\n', '\r\n')))).text).toBe('hi');
    });

    it('ends with its end: what follows [DONE] does not count', async () => {
      const reply = await ask(answer(chunk({ content: 'all' }), stop, DONE, DONE));
      expect(reply).toMatchObject({ text: 'all', finishReason: 'stop' });
      // Some servers leave it out.
      expect((await ask(answer(chunk({ content: 'all' }), stop))).text).toBe('all');
    });

    it('may begin with a chunk without choices', async () => {
      const filtered = event({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] });
      expect((await ask(answer(filtered, chunk({ content: 'hi' }), stop, DONE))).text).toBe('hi');
    });

    it('names the answer and the model for spans', async () => {
      const reply = await ask(answer(chunk({ content: 'hi' }), stop, DONE));
      expect(reply.response).toMatchObject({ id: 'c1', model: 'm1-2026' });
    });

    it.each([
      ['stop', 'stop'],
      ['length', 'length'],
      ['content_filter', 'content-filter'],
      ['tool_calls', 'tool-calls'],
      ['function_call', 'tool-calls'],
      ['eos', 'other'],
    ])('finishes with %s: %s', async (written, expected) => {
      const reply = await ask(answer(chunk({ content: 'hi' }), chunk({}, written), DONE));
      expect(reply.finishReason).toBe(expected);
    });

    it('may end with [DONE] and no finish reason: it is an answer if it says something', async () => {
      const said = await ask(answer(chunk({ content: 'al' }), chunk({ content: 'l' }), DONE));
      expect(said).toMatchObject({ text: 'all', finishReason: 'other' });
      // In pieces, and with other line ends.
      const pieces = `${chunk({ content: 'all' })}data:[DONE]\r\n\r\n`.match(/.{1,3}/gs) ?? [];
      expect((await ask(answer(...pieces))).text).toBe('all');
      const call = { index: 0, id: 'a', type: 'function', function: { name: 'act', arguments: '{}' } };
      expect((await ask(answer(callChunk(call), DONE))).toolCalls).toMatchObject([{ id: 'a', name: 'act' }]);
      for (const nothing of [
        answer(chunk({ content: '' }), DONE),
        answer(chunk({ content: '<think>hm</think>' }), DONE),
      ])
        expect(await failureOf(ask(nothing))).toMatchObject({ code: 'cut_off' });
      // A text that looks like it is none.
      expect(await failureOf(ask(answer(chunk({ content: '\ndata: [DONE]' }))))).toMatchObject({
        code: 'cut_off',
      });
    });

    it('may finish with the chunk of its last token', async () => {
      const reply = await ask(answer(chunk({ content: 'a' }), chunk({ content: 'b' }, 'length'), DONE));
      expect(reply).toMatchObject({ text: 'ab', finishReason: 'length' });
    });

    it('counts tokens in its last chunk, or in every chunk up to there', async () => {
      const usage = (n: number) => ({
        usage: { prompt_tokens: 2 * n, completion_tokens: n, total_tokens: 3 * n },
      });
      const last = event({ choices: [], ...usage(7) });
      expect((await ask(answer(chunk({ content: 'a' }), stop, last, DONE))).usage).toEqual({
        input_tokens: 14,
        output_tokens: 7,
      });
      const each = answer(chunk({ content: 'a' }, null, usage(1)), chunk({}, 'stop', usage(9)), DONE);
      expect((await ask(each)).usage).toEqual({ input_tokens: 18, output_tokens: 9 });
      const none = answer(chunk({ content: 'a'.repeat(400) }, null, { usage: null }), stop, DONE);
      expect((await ask(none)).usage.output_tokens).toBeGreaterThan(90);
    });

    it('may hold a refusal in a field of its own', async () => {
      const reply = await ask(answer(chunk({ refusal: 'I will ' }), chunk({ refusal: 'not.' }), stop, DONE));
      expect(reply).toMatchObject({ text: 'I will not.', finishReason: 'content-filter' });
    });

    it('is not kept alive by comments while the model stalls', async () => {
      const stalling = await modelOf(provider, { stall_seconds: 0.4 });
      let closed = false;
      respond = streamed((response) => {
        response.write(chunk({ content: 'first' }));
        const comments = setInterval(() => response.write(': PROCESSING\n\n'), 50);
        response.on('close', () => {
          closed = true;
          clearInterval(comments);
        });
      });
      expect(await failureOf(stalling.call(request, never))).toMatchObject({
        code: 'stall',
        retryable: true,
      });
      await eventually(() => closed);
    });

    it('that breaks within a chunk is cut off', async () => {
      const failure = await failureOf(
        ask(
          streamed((response) => {
            response.write(chunk({ content: 'half' }) + stop.slice(0, 20), () => response.destroy());
          }),
        ),
      );
      expect(failure).toMatchObject({ code: 'cut_off', retryable: true });
      expect(await failureOf(ask(answer(chunk({ content: 'half' }))))).toMatchObject({ code: 'cut_off' });
    });

    it('that is not JSON is no answer, and is not quoted', async () => {
      for (const data of ['{"choices": [{"delta": {"content": "private', '"private"', '[]', 'null']) {
        const failure = await failureOf(ask(answer(event(data), stop, DONE)));
        expect(failure).toMatchObject({ code: 'protocol', retryable: true });
        expect(failure.message).not.toContain('private');
      }
    });
  });

  describe('an error within a stream', () => {
    const failing = (error: unknown, ...before: string[]) =>
      failureOf(ask(answer(...before, event({ error } as object))));

    it('may have a status', async () => {
      for (const code of [429, 500, 503]) {
        const failure = await failing({ message: 'Not now', code }, chunk({ content: 'half' }));
        expect(failure).toMatchObject({ code: 'unavailable', retryable: true });
        expect(failure.message).toContain('Not now');
      }
      const refused = await failing({ message: 'Bad key', code: 401 }, chunk({ content: 'half' }));
      expect(refused).toMatchObject({ code: 'unauthorized', retryable: false });
    });

    it('may have a name', async () => {
      const refused = { message: 'No', type: 'invalid_request_error', code: null };
      expect(await failing(refused, chunk({ content: 'half' }))).toMatchObject({ code: 'refused' });
      const long = { message: 'Too much', type: 'invalid_request_error', code: 'context_length_exceeded' };
      expect(await failing(long, chunk({ content: 'half' }))).toMatchObject({ code: 'too_long' });
    });

    it('may be the first thing that comes', async () => {
      const failure = await failing({ message: 'Overloaded', type: 'server_error', code: null });
      expect(failure.retryable).toBe(true);
      expect(failure.message).toContain('Overloaded');
    });
  });

  describe('calls', () => {
    it('are put together by index, also if they are written at the same time', async () => {
      const reply = await ask(
        answer(
          callChunk({ index: 0, id: 'a', type: 'function', function: { name: 'act', arguments: '' } }),
          callChunk(
            { index: 1, id: 'b', type: 'function', function: { name: 'look', arguments: '{"x' } },
            { index: 0, function: { arguments: '{"y":' } },
          ),
          callChunk({ index: 1, function: { arguments: '":1}' } }),
          callChunk({ index: 0, function: { arguments: '2}' } }),
          callsAsked,
          DONE,
        ),
      );
      expect(reply).toMatchObject({
        finishReason: 'tool-calls',
        toolCalls: [
          { id: 'a', name: 'act', arguments: '{"y":2}' },
          { id: 'b', name: 'look', arguments: '{"x":1}' },
        ],
      });
    });

    it('may repeat their id and name with every piece', async () => {
      const piece = (args: string) => ({ index: 0, id: 'a', function: { name: 'act', arguments: args } });
      const reply = await ask(
        answer(callChunk(piece('{"a')), callChunk(piece('":')), callChunk(piece('1}')), callsAsked, DONE),
      );
      expect(reply.toolCalls).toEqual([{ id: 'a', name: 'act', arguments: '{"a":1}' }]);
    });

    it('may all have the same index, with ids and without', async () => {
      const whole = (n: number) => ({
        index: 0,
        id: `c${n}`,
        function: { name: 'act', arguments: `{"n":${n}}` },
      });
      const withIds = await ask(answer(callChunk(whole(1)), callChunk(whole(2)), callsAsked, DONE));
      expect(withIds.toolCalls).toMatchObject([
        { id: 'c1', arguments: '{"n":1}' },
        { id: 'c2', arguments: '{"n":2}' },
      ]);
      const { id: _, ...nameless } = whole(3);
      const without = await ask(answer(callChunk(nameless), callChunk(nameless), callsAsked, DONE));
      expect(without.toolCalls).toMatchObject([{ arguments: '{"n":3}' }, { arguments: '{"n":3}' }]);
      expect(new Set(without.toolCalls.map(({ id }) => id)).size).toBe(2);
    });

    it('without a name are no calls', async () => {
      const failure = await failureOf(
        ask(answer(callChunk({ index: 0, id: 'a', function: { arguments: '{}' } }), callsAsked, DONE)),
      );
      expect(failure.retryable).toBe(true);
    });
  });

  describe('a document', () => {
    it('may hold a refusal, and calls without ids', async () => {
      const call = { type: 'function', function: { name: 'act', arguments: '{"n":1}' } };
      const message = { role: 'assistant', content: null, refusal: null, tool_calls: [call, call] };
      const reply = await ask(document({ choices: [{ index: 0, finish_reason: 'tool_calls', message }] }));
      expect(reply.toolCalls).toMatchObject([{ arguments: '{"n":1}' }, { arguments: '{"n":1}' }]);
      const refusal = { role: 'assistant', content: null, refusal: 'I will not.' };
      const choice = { index: 0, finish_reason: 'stop', message: refusal };
      expect(await ask(document({ choices: [choice] }))).toMatchObject({
        text: 'I will not.',
        finishReason: 'content-filter',
      });
    });

    it('without a choice is no answer', async () => {
      for (const body of [{ choices: [] }, { choices: [{}] }, { choices: 'private' }, {}]) {
        const failure = await failureOf(ask(document(body)));
        expect(failure.retryable).toBe(true);
        expect(failure.message).not.toContain('private');
      }
    });
  });

  it('reads Retry-After also as a date', async () => {
    const failure = await failureOf(
      ask((response) => {
        const date = new Date(Date.now() + 3_600_000).toUTCString();
        response.writeHead(503, { 'retry-after': date }).end('down');
      }),
    );
    expect(failure.code).toBe('unavailable');
    expect(failure.retryAfterMs).toBeGreaterThan(3_500_000);
  });

  it('keeps its connections for the next calls, also after a refusal', async () => {
    const message = { role: 'assistant', content: 'b' };
    for (let round = 0; round < 3; round += 1) {
      await ask(answer(chunk({ content: 'a' }), stop, DONE));
      await failureOf(ask((response) => response.writeHead(429).end('{"error":{"message":"later"}}')));
      await ask(document({ choices: [{ index: 0, finish_reason: 'stop', message }] }));
    }
    // A connection rests for a moment before it is used again, so two may take turns.
    expect(connections).toBeLessThanOrEqual(2);
  });

  it('is given up while its connection is being made, if the run is stopped', async () => {
    const abort = new AbortController();
    respond = () => {
      throw new Error('it was asked');
    };
    const call = model.call(request, abort.signal);
    abort.abort('drain');
    await expect(call).rejects.toBe('drain');
  });
});

/** Where the SDK is stricter, or takes a part of an answer for all of it. */
describe('our own client of chat-completions', () => {
  let model: Model;
  beforeEach(async () => {
    model = await modelOf('openai-compatible');
  });
  const ask = (reply: typeof respond) => {
    respond = reply;
    return model.call(request, never);
  };

  it('does not take an empty finish reason for the end', async () => {
    const blank = chunk({ content: 'half' }, '');
    expect(await failureOf(ask(answer(blank)))).toMatchObject({ code: 'cut_off' });
    expect((await ask(answer(blank, stop, DONE))).finishReason).toBe('stop');
  });

  it('reads content in parts, of which thoughts are none of the answer', async () => {
    const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] };
    const parts = [thinking, { type: 'text', text: 'hi' }];
    expect((await ask(answer(chunk({ content: parts }), stop, DONE))).text).toBe('hi');
    const message = { content: parts, reasoning_content: 'hm' };
    expect((await ask(document({ choices: [{ finish_reason: 'stop', message }] }))).text).toBe('hi');
  });

  it('takes an error that comes with a choice for an error', async () => {
    const both = { choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }] };
    const error = { code: 502, message: 'Provider disconnected' };
    const failure = await failureOf(ask(answer(chunk({ content: 'half' }), event({ ...both, error }), DONE)));
    expect(failure).toMatchObject({ code: 'unavailable', retryable: true });
  });

  it('bears calls without an index, each of them whole', async () => {
    const whole = (id: string, args: string) => ({ id, function: { name: 'act', arguments: args } });
    const both = callChunk(whole('a', '{"n":1}'), whole('b', '{"n":2}'));
    const reply = await ask(answer(both, callChunk(whole('c', '{}')), callsAsked, DONE));
    expect(reply.toolCalls).toMatchObject([
      { id: 'a', arguments: '{"n":1}' },
      { id: 'b', arguments: '{"n":2}' },
      { id: 'c', arguments: '{}' },
    ]);
  });

  it('bears a name that comes after the first piece of a call', async () => {
    const reply = await ask(
      answer(
        callChunk({ index: 0, id: 'a', function: { arguments: '{"n"' } }),
        callChunk({ index: 0, function: { name: 'act', arguments: ':1}' } }),
        callsAsked,
        DONE,
      ),
    );
    expect(reply.toolCalls).toEqual([{ id: 'a', name: 'act', arguments: '{"n":1}' }]);
  });

  it('reads an error that is only a text, in a stream, in a document and in a refusal', async () => {
    const replies: (typeof respond)[] = [
      answer(chunk({ content: 'half' }), event({ error: 'out of memory' })),
      document({ error: 'out of memory' }),
      (response) => response.writeHead(500).end('{"error":"out of memory"}'),
    ];
    for (const reply of replies) {
      const failure = await failureOf(ask(reply));
      expect(failure).toMatchObject({ code: 'unavailable', retryable: true });
      expect(failure.message).toContain('out of memory');
    }
  });

  it('reads the status of an error that comes with 200', async () => {
    const failure = await failureOf(ask(document({ error: { message: 'No credit', code: 402 } })));
    expect(failure).toMatchObject({ code: 'unauthorized', retryable: false });
  });

  it('is not kept waiting by chunks without a token', async () => {
    const stalling = await modelOf('openai-compatible', { stall_seconds: 0.4 });
    respond = streamed((response) => {
      const empty = setInterval(() => response.write(chunk({ content: '' })), 50);
      response.on('close', () => clearInterval(empty));
    });
    expect(await failureOf(stalling.call(request, never))).toMatchObject({ code: 'stall' });
  });

  it('disconnects from a model that thinks for ever, and from one event without an end', async () => {
    for (const endless of [
      chunk({ reasoning_content: 'hm '.repeat(10_000) }),
      `data: ${'x'.repeat(60_000)}`,
    ]) {
      let closed = false;
      respond = streamed((response) => {
        response.on('close', () => {
          closed = true;
        });
        const more = () => {
          while (!response.destroyed && response.write(endless));
        };
        response.on('drain', more);
        more();
      });
      const failure = await failureOf(model.call(request, never));
      expect(failure.message).toMatch(/more than \d+ characters/);
      await eventually(() => closed);
    }
  });

  it('keeps only the beginning of a refusal', async () => {
    const failure = await failureOf(
      ask((response) => response.writeHead(400, { 'content-type': 'text/html' }).end('x'.repeat(10_000_000))),
    );
    expect(failure).toMatchObject({ code: 'refused' });
    expect(failure.message).toContain('Bad Request (HTTP 400)');
  });

  it('lets the config replace a header of its own', async () => {
    const seen: (string | undefined)[] = [];
    server.on('request', ({ headers }) => seen.push(headers.authorization, headers['user-agent']));
    const over = await modelOf('openai-compatible', {
      headers: { Authorization: 'Token t', 'User-Agent': 'u' },
    });
    respond = answer(chunk({ content: 'a' }), stop, DONE);
    await over.call(request, never);
    await model.call(request, never);
    expect(seen).toEqual(['Token t', 'u', 'Bearer sk-key', 'angelia']);
  });
});
