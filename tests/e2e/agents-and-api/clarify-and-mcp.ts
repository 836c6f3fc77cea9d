import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  callTool,
  callTools,
  eventually,
  type ModelServer,
  type Sink,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, modelAt, receiver, stack } from '../shared-stack.ts';

/** Uses the official SDK. Node runs the file directly. */
const MCP_PROGRAM = fileURLToPath(
  new URL('../../../services/agent-runner/src/testing/mcp-stdio-server.ts', import.meta.url),
);
const AGENT = { kind: 'llm', model: 'asking', toolsets: ['clarify'] };

let sink: Sink;
let model: ModelServer;

const ask = (question: string, choices?: string[]) =>
  callTool('clarify', { question, ...(choices === undefined ? {} : { choices }) });

async function questionTo(sessionId: string): Promise<{ text: string; link: string }> {
  const message = await eventually(() => sink.taken(sessionId).find(({ payload }) => payload.clarification));
  const { text } = message.payload;
  return { text, link: text.match(/http\S+\/answers\/\S+$/)?.[0] ?? '' };
}

function logs(): string {
  const directory = join(stack.dataDir, 'logs');
  return readdirSync(directory)
    .map((file) => readFileSync(join(directory, file), 'utf8'))
    .join('\n');
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

export function clarifyAndMcp(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    model = await startModelServer();
    return {
      models: { asking: modelAt(model) },
      agents: {
        // One run at a time: a session that waits for an answer must not hold it.
        asks: { ...AGENT, max_concurrency: 1 },
        gives_up: { ...AGENT, clarify: { timeout_seconds: 2, on_timeout: 'end' } },
        equipped: { ...AGENT, toolsets: ['mcp:tools'] },
        goes_on: { ...AGENT, clarify: { timeout_seconds: 2, on_timeout: 'continue' } },
      },
      routes: {
        asks: testRoute(sink.url, { agent: 'asks' }),
        'gives-up': testRoute(sink.url, { agent: 'gives_up' }),
        'goes-on': testRoute(sink.url, { agent: 'goes_on' }),
        equipped: testRoute(sink.url, { agent: 'equipped' }),
      },
      extra: {
        mcp_servers: { tools: { command: process.execPath, args: [MCP_PROGRAM], env: { GIVEN: 'yes' } } },
      },
    };
  });

  afterAll(async () => {
    await model?.stop();
    await sink?.stop();
  });

  describe('a question of the agent', () => {
    it('reaches the target with its choices and a link; after an answer by the link the run goes on', async () => {
      model.next(ask('Red or blue?', ['Red', 'Blue']));
      const { sessionId } = await stack.post({ route: 'asks', body: { text: 'paint it' } });
      const { text, link } = await questionTo(sessionId);
      expect(text).toBe(`Red or blue?\n\n1. Red\n2. Blue\n\nAnswer here: ${link}`);
      expect(link.startsWith(`${stack.baseUrl}/answers/`)).toBe(true);
      expect((await stack.session(sessionId)).status).toBe('waiting');

      // It waits without holding capacity: another session is answered in the meantime.
      const other = await stack.post({ route: 'asks', body: { text: 'quick one' } });
      await stack.waitForEnd(other.sessionId);

      const page = await fetch(link);
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Red or blue?')]);
      const posted = await fetch(link, { method: 'POST', body: new URLSearchParams({ answer: 'Blue' }) });
      expect(posted.status).toBe(202);
      const session = await stack.waitForEnd(sessionId, { settled: true });
      expect(session).toMatchObject({ outcome: 'succeeded', generation: 2, title: 'paint it' });
      expect(sink.answersOf(sessionId)).toHaveLength(1);
      const asked = model.requests.at(-1)?.body.messages as { role: string; content: string }[];
      expect(asked.at(-1)).toMatchObject({ role: 'tool', content: '{"answer":"Blue"}' });
      // The question and the answer, in that order, and nothing else.
      expect(sink.taken(sessionId).map(({ payload }) => payload.type)).toEqual([
        'interim-status',
        'final-response',
      ]);
      expect((await fetch(link)).status).toBe(410);

      // Whoever has the link can answer, so it is only in the message.
      const token = link.split('/').at(-1) ?? '-';
      expect(JSON.stringify(await stack.events(sessionId))).not.toContain(token);
      await eventually(() =>
        receiver.spans.some(
          ({ name, traceId }) => name === 'clarification answered' && traceId === session.trace_id,
        ),
      );
      expect(JSON.stringify(receiver.spans)).not.toContain(token);
      expect(logs()).not.toContain(token);
    });

    it('can be answered by a message as well', async () => {
      model.next(ask('Which?'));
      const { sessionId } = await stack.post({ route: 'asks', body: { text: 'choose' } });
      const { text, link } = await questionTo(sessionId);
      expect(text).toBe(`Which?\n\nAnswer here: ${link}`);
      const answered = await fetch(`${stack.baseUrl}/v1/sessions/${sessionId}/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ text: 'that one' }),
      });
      expect(answered.status).toBe(202);
      expect(await stack.waitForEnd(sessionId)).toMatchObject({ outcome: 'succeeded' });
      expect((await fetch(link)).status).toBe(410);
    });
  });

  describe('a question that nobody answers', () => {
    it('ends the session at the deadline, with a message; a later message is a new turn (C5)', async () => {
      model.next(ask('Which?'));
      const { sessionId } = await stack.post({ route: 'gives-up', body: { text: 'choose' } });
      const { link } = await questionTo(sessionId);
      const ended = await stack.waitForEnd(sessionId, { settled: true });
      expect(ended).toMatchObject({ outcome: 'expired', end_reason: 'webhook_complete' });
      expect(sink.answersOf(sessionId)).toEqual([expect.stringContaining('No answer to the question')]);
      expect((await fetch(link)).status).toBe(410);

      const asked = model.requests.length;
      const later = await fetch(`${stack.baseUrl}/v1/sessions/${sessionId}/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ text: 'what time is it?' }),
      });
      const { session_id: next } = (await later.json()) as { session_id: string };
      expect(next).not.toBe(sessionId);
      expect(await stack.waitForEnd(next)).toMatchObject({ outcome: 'succeeded', continues: sessionId });
      expect(model.requests.length).toBe(asked + 1);
      expect(model.requests.at(-1)?.input).toBe('what time is it?');
    });

    it('lets the run go on with "no answer" if the agent is configured so', async () => {
      model.next(ask('Which?'));
      const { sessionId } = await stack.post({ route: 'goes-on', body: { text: 'choose' } });
      await questionTo(sessionId);
      expect(await stack.waitForEnd(sessionId, { settled: true })).toMatchObject({ outcome: 'succeeded' });
      const asked = model.requests.at(-1)?.body.messages as { role: string; content: string }[];
      expect(asked.at(-1)).toMatchObject({ role: 'tool', content: '{"answer":null,"timed_out":true}' });
      expect(sink.answersOf(sessionId)).toHaveLength(1);
    });
  });

  describe('an MCP server of the config', () => {
    it('is started for the run that needs it, gets none of our secrets, and ends with the runner', async () => {
      model.next(callTools({ name: 'mcp__tools__env', args: {} }, { name: 'mcp__tools__pid', args: {} }));
      const { sessionId } = await stack.post({ route: 'equipped', body: { text: 'look around' } });
      expect(await stack.waitForEnd(sessionId, { settled: true })).toMatchObject({ outcome: 'succeeded' });
      const [seen, pid] = (await stack.events(sessionId))
        .filter(({ type }) => type === 'tool.finished')
        .map(({ data }) => String(data.result));
      const { env } = JSON.parse(seen ?? '') as { env: Record<string, string> };
      expect(env.GIVEN).toBe('yes');
      expect(Object.keys(env).filter((name) => /ANGELIA|DATABASE|NATS|OTEL|KEY|TOKEN/.test(name))).toEqual(
        [],
      );
      expect(isAlive(Number(pid))).toBe(true);
      await stack.hold('agent-runner');
      expect(isAlive(Number(pid))).toBe(false);
      await stack.resume('agent-runner');
    });
  });
}
