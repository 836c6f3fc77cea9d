import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { eventually, type Sink, startSink, TEST_SINK_SECRET, testRoute } from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';

// Agents without a model on the whole stack: a program under process-watcher, and a service that calls back.

interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

const SECRET = 'secret-of-the-agent';
let sink: Sink;
let server: Server;
const asked: Asked[] = [];
let behave: (asked: Asked, response: ServerResponse) => void;

const told = (sessionId: string) =>
  sink.taken(sessionId).map(({ payload }) => [payload.type, payload.text] as const);
const says = (response: ServerResponse, status: number, body: unknown) => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};
const callBack = (one: Asked | undefined, body: unknown) =>
  fetch(String(one?.body.callback_url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

export function agentKinds(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => {
        const one = { headers: request.headers, body: JSON.parse(text) as Record<string, unknown> };
        asked.push(one);
        behave(one, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/turns`;
    const program = (script: string) => ({ kind: 'command', command: ['/bin/sh', '-c', script] });
    return {
      agents: {
        program: program('read line; echo "::status reading"; echo "program: $line"'),
        fails: program('echo "no luck" >&2; exit 7'),
        // A second start would print 2.
        patient: program(
          'echo x >> starts; echo "::status begun"; sleep 4; echo "started $(wc -l < starts | tr -d " ") times"',
        ),
        remembers: {
          ...program('cat >> notes; echo "$ANGELIA_CONVERSATION_ID $(id -u) $(pwd) $(tr "\\n" " " < notes)"'),
          send_history: false,
        },
        elsewhere: { kind: 'http', url, secret: SECRET },
      },
      routes: {
        ...Object.fromEntries(
          ['program', 'fails', 'patient', 'elsewhere'].map((agent) => [
            agent,
            testRoute(sink.url, { agent }),
          ]),
        ),
        remembers: testRoute(sink.url, { agent: 'remembers', prompt: '{text}\n', session_key: '{thread}' }),
      },
    };
  });

  afterAll(async () => {
    server?.closeAllConnections();
    server?.close();
    await sink?.stop();
  });

  describe('an agent that is a program', () => {
    it('gets the prompt, reports, and its answer is delivered', async () => {
      const { sessionId } = await stack.post({ route: 'program', body: { text: 'hello there' } });
      const session = await stack.waitForEnd(sessionId, { settled: true });
      expect(session).toMatchObject({ outcome: 'succeeded', end_reason: 'webhook_complete' });
      expect(told(sessionId).at(-1)).toEqual(['final-response', 'program: hello there']);
      const events = await stack.events(sessionId);
      expect(events.find(({ type }) => type === 'session.interim-status')?.data).toMatchObject({
        kind: 'agent',
        text: 'reading',
      });
    });

    it('that fails tells the user in one sentence, without its own output', async () => {
      const { sessionId } = await stack.post({ route: 'fails', body: { text: 'x' } });
      const session = await stack.waitForEnd(sessionId, { settled: true });
      expect(session.outcome).toBe('failed');
      const [[type, text] = []] = told(sessionId);
      expect([type, String(text).includes('no luck')]).toEqual(['final-response', false]);
      const failed = (await stack.events(sessionId)).find((event) => event.type === 'run.failed');
      expect(failed?.data).toMatchObject({
        code: 'agent_failed',
        message: expect.stringContaining('no luck'),
      });
    });

    it('goes on where it was when a webhook of the same key comes after its answer', async () => {
      const answers: string[] = [];
      const sessions: string[] = [];
      for (const text of ['one', 'two', 'three']) {
        const { sessionId } = await stack.post({ route: 'remembers', body: { text, thread: 't-1' } });
        await stack.waitForEnd(sessionId, { settled: true });
        sessions.push(sessionId);
        answers.push(String(told(sessionId).at(-1)?.[1]));
      }
      expect(new Set(sessions).size).toBe(3);
      const [place] = answers[0]?.split(' one') ?? [];
      expect(place).toMatch(new RegExp(`^${sessions[0]} \\d+ /`));
      expect(answers.map((answer) => answer.trim())).toEqual([
        `${place} one`,
        `${place} one two`,
        `${place} one two three`,
      ]);
    });

    it('survives a killed (-9) runner and watcher, starts once and answers once', async () => {
      const { sessionId } = await stack.post({ route: 'patient', body: { text: 'x' } });
      await eventually(async () =>
        (await stack.events(sessionId)).some(({ type }) => type === 'session.interim-status'),
      );
      const pids = (['agent-runner', 'process-watcher'] as const).map(
        (name) => [name, stack.kill(name)] as const,
      );
      for (const [name, pid] of pids) await stack.restarted(name, pid);
      const session = await stack.waitForEnd(sessionId, { settled: true });
      expect(session).toMatchObject({ outcome: 'succeeded', generation: 2 });
      const answers = told(sessionId).filter(([type]) => type === 'final-response');
      expect(answers).toEqual([['final-response', 'started 1 times']]);
      const events = await stack.events(sessionId);
      expect(events.filter(({ type }) => type === 'tool.started')).toHaveLength(1);
      expect(events.filter(({ type }) => type === 'session.interim-status')).toHaveLength(1);
    });
  });

  describe('an agent that is a service', () => {
    it('may answer at once', async () => {
      behave = ({ body }, response) => says(response, 200, { text: `service: ${body.prompt}` });
      const { sessionId } = await stack.post({ route: 'elsewhere', body: { text: 'hello' } });
      await stack.waitForEnd(sessionId, { settled: true });
      expect(told(sessionId)).toEqual([['final-response', 'service: hello']]);
    });

    it('may call back later, after the runner that asked was killed (-9); nobody else can', async () => {
      asked.length = 0;
      behave = (_asked, response) => says(response, 202, {});
      const { sessionId } = await stack.post({ route: 'elsewhere', body: { text: 'later' } });
      await eventually(() => asked.length === 1);
      expect((await callBack(asked[0], { status: 'halfway' })).status).toBe(202);
      const pid = stack.kill('agent-runner');
      await stack.restarted('agent-runner', pid);
      await eventually(() => asked.length === 2);
      const [first, second] = asked;
      expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
      expect(second?.body).toMatchObject({ resumed: true, callback_url: first?.body.callback_url });

      const link = String(first?.body.callback_url);
      expect(new URL(link).origin).toBe(new URL(stack.baseUrl).origin);
      const forged = await callBack(
        { headers: {}, body: { callback_url: `${link}x` } },
        { text: 'not mine' },
      );
      expect(forged.status).toBe(404);
      expect((await callBack(first, { text: 'at last' })).status).toBe(202);
      const session = await stack.waitForEnd(sessionId, { settled: true });
      expect(session.outcome).toBe('succeeded');
      expect(told(sessionId).at(-1)).toEqual(['final-response', 'at last']);
      expect((await callBack(first, { text: 'again' })).status).toBe(410);

      // Whoever has the link can use it, so it is in no event and in no log.
      const token = link.split('/').at(-1) ?? '';
      const logs = join(stack.dataDir, 'logs');
      const written = [
        JSON.stringify(await stack.events(sessionId)),
        ...readdirSync(logs).map((name) => readFileSync(join(logs, name), 'utf8')),
      ].join('\n');
      expect(written).not.toContain(token.split('.').at(-1));
      expect(written).not.toContain(SECRET);
    });
  });
}
