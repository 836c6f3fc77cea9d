import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  callTool,
  eventually,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, modelAt, stack } from '../shared-stack.ts';

// kill -9 between an approval and the run of its command: the command runs at most once (approved-is-what-runs).

let sink: Sink;
let model: ModelServer;
let traces: string;

const fileOf = (input: string) => join(traces, input);
/** The command goes on when this file exists. */
const gateOf = (input: string) => `${fileOf(input)}.go`;
const timesRun = (input: string) =>
  existsSync(fileOf(input)) ? readFileSync(fileOf(input), 'utf8').trim().split('\n').length : 0;

async function linkOf(id: string): Promise<string> {
  const message = await eventually(() => sink.taken(id).find(({ payload }) => payload.approval));
  return message.payload.text.match(/http\S+\/approvals\/\S+$/)?.[0] ?? '';
}

async function requested(input: string): Promise<{ id: string; link: string }> {
  const { sessionId: id } = await stack.post({ route: 'approved', body: { text: input } });
  const link = await linkOf(id);
  expect(await stack.session(id)).toMatchObject({ status: 'waiting', waiting_for: 'approval' });
  return { id, link };
}

const decide = (link: string, decision: string) =>
  fetch(link, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams({ decision }),
  });
const of = async (id: string, type: string) =>
  (await stack.events(id)).filter((event) => event.type === type);
const has = (id: string, type: string) => eventually(async () => (await of(id, type)).length > 0);

export function killedApproval(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    traces = mkdtempSync(join(tmpdir(), 'angelia-approved-'));
    chmodSync(traces, 0o777);
    model = await startModelServer();
    model.behave(({ body, input }) =>
      JSON.stringify(body).includes('"role":"tool"')
        ? say('done')
        : callTool('terminal', {
            command: `echo ran >> ${fileOf(input)}; while [ ! -e ${gateOf(input)} ]; do sleep 0.05; done`,
          }),
    );
    return {
      models: { approving: modelAt(model) },
      agents: {
        careful: {
          kind: 'llm',
          model: 'approving',
          toolsets: ['terminal'],
          tools: { policy: [{ tool: 'terminal', do: 'ask' }] },
        },
      },
      routes: { approved: testRoute(sink.url, { agent: 'careful' }) },
    };
  });

  afterAll(async () => {
    await model?.stop();
    await sink?.stop();
    if (traces !== undefined) rmSync(traces, { recursive: true, force: true });
  });

  describe('an approved command', () => {
    it('runs once, although both runners are killed right after the approval', async () => {
      const { id, link } = await requested('killed-runners');
      const runners = ['agent-runner', 'agent-runner-2'];
      // Frozen, so that none of them can be quicker than the kill.
      for (const runner of runners) stack.freeze(runner);
      expect((await decide(link, 'approve')).status).toBe(202);
      expect((await decide(link, 'deny')).status).toBe(410);
      for (const runner of runners) await stack.restarted(runner, stack.kill(runner));
      writeFileSync(gateOf('killed-runners'), '');
      await stack.waitForEnd(id, { settled: true });
      expect(timesRun('killed-runners')).toBe(1);
      expect(await of(id, 'tool.started')).toHaveLength(1);
      expect(sink.answersOf(id)).toEqual(['done']);
    });

    it('runs once, although its process-watcher and its runner are killed while it runs', async () => {
      const { id, link } = await requested('killed-watcher');
      expect((await decide(link, 'approve')).status).toBe(202);
      await eventually(() => timesRun('killed-watcher') > 0);
      const names = ['process-watcher', 'agent-runner', 'agent-runner-2'];
      const killed = names.map((name) => [name, stack.kill(name)] as const);
      for (const [name, pid] of killed) await stack.restarted(name, pid);
      writeFileSync(gateOf('killed-watcher'), '');
      await stack.waitForEnd(id, { settled: true });
      expect(timesRun('killed-watcher')).toBe(1);
      expect(await of(id, 'tool.started')).toHaveLength(1);
    });

    it('that was denied never runs', async () => {
      const { id, link } = await requested('denied');
      expect((await decide(link, 'deny')).status).toBe(202);
      await has(id, 'session.ended');
      expect(timesRun('denied')).toBe(0);
      expect(await of(id, 'tool.started')).toEqual([]);
    });
  });
}
