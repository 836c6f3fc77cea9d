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
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { sideBySide } from '../../side-by-side.ts';
import { addToStack, modelAt, stack } from '../shared-stack.ts';

// kill -9 between an approval and the run of its command: the command runs at most once (approved-is-what-runs).

const STORY_MS = 300_000;
const RUNNERS = ['agent-runner', 'agent-runner-2'];

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

async function requested(input: string, route = 'approved'): Promise<{ id: string; link: string }> {
  const { sessionId: id } = await stack.post({ route, body: { text: input } });
  const link = await linkOf(id);
  return { id, link };
}

const decide = (link: string, decision: string) =>
  fetch(link, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams({ decision }),
  });
const decideByApi = (id: string, decision: string) =>
  fetch(new URL(`/v1/approvals/${id}.1`, stack.baseUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ decision }),
  });
const of = async (id: string, type: string) =>
  (await stack.events(id)).filter((event) => event.type === type);
const has = (id: string, type: string) => eventually(async () => (await of(id, type)).length > 0);

/** What one scenario does to the services, the others go through as well. */
type Moment =
  | 'the runners are frozen'
  | 'one runner is killed, the other wakes'
  | 'the watcher is frozen'
  | 'the watcher and a runner are killed'
  | 'ingress is alone';

const together = sideBySide<Moment>(STORY_MS);

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
    const route = testRoute(sink.url, { agent: 'careful' });
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
      routes: {
        approved: route,
        'approved-by-others': { ...route, tools: { approvers: ['telegram:1'] } },
        'approved-soon': { ...route, tools: { approval_expires_seconds: 2 } },
      },
    };
  });

  afterAll(async () => {
    await model?.stop();
    await sink?.stop();
    if (traces !== undefined) rmSync(traces, { recursive: true, force: true });
  });

  describe('an approved command', () => {
    beforeAll(() => {
      together.begin(async (then) => {
        // Frozen, so that none of them can be quicker than the kill.
        await then('the runners are frozen', async () => {
          for (const runner of RUNNERS) stack.freeze(runner);
        });
        await then('one runner is killed, the other wakes', async () => {
          await stack.restarted('agent-runner', stack.kill('agent-runner'));
          stack.thaw('agent-runner-2');
        });
        await then('the watcher is frozen', async () => stack.freeze('process-watcher'));
        await then('the watcher and a runner are killed', async () => {
          const names = ['process-watcher', 'agent-runner'];
          const killed = names.map((name) => [name, stack.kill(name)] as const);
          for (const [name, pid] of killed) await stack.restarted(name, pid);
        });
        await then('ingress is alone');
      });
    });
    afterAll(async () => {
      await together.over();
      stack.thawAll();
    });

    together.it('runs once, although a runner is killed right after the approval', async (until) => {
      const { id, link } = await requested('killed-runner');
      await until('the runners are frozen');
      expect((await decide(link, 'approve')).status).toBe(202);
      expect((await decide(link, 'deny')).status).toBe(410);
      await until('one runner is killed, the other wakes');
      writeFileSync(gateOf('killed-runner'), '');
      await stack.waitForEnd(id, { settled: true });
      expect(timesRun('killed-runner')).toBe(1);
      expect(await of(id, 'tool.started')).toHaveLength(1);
      expect(sink.answersOf(id)).toEqual(['done']);
    });

    together.it('never runs if its request expired while every runner was frozen', async (until) => {
      const { sessionId: id } = await stack.post({ route: 'approved-soon', body: { text: 'expired' } });
      await has(id, 'approval.requested');
      await until('the runners are frozen');
      // No runner has recorded it. It is read in ingress, which knows the time only about.
      const refused = await eventually(async () => {
        const { approval } = await stack.adminGet<{ approval?: { expires_at: string } }>(
          `/v1/sessions/${id}`,
        );
        const isOver = approval === undefined || Date.parse(approval.expires_at) + 1_000 < Date.now();
        return isOver && decideByApi(id, 'approve');
      });
      expect(refused.status).toBe(409);
      expect(await refused.json()).toMatchObject({ reason: 'expired', decided: null });
      await until('one runner is killed, the other wakes');
      await has(id, 'session.ended');
      expect((await of(id, 'approval.expired')).map(({ data }) => data.reason)).toEqual(['time']);
      expect(await of(id, 'approval.decided')).toEqual([]);
      expect([timesRun('expired'), await of(id, 'tool.started')]).toEqual([0, []]);
    });

    together.it('runs once, although its watcher and a runner are killed while it runs', async (until) => {
      const { id, link } = await requested('killed-later');
      await until('one runner is killed, the other wakes');
      expect((await decide(link, 'approve')).status).toBe(202);
      await eventually(() => timesRun('killed-later') > 0);
      await until('the watcher and a runner are killed');
      writeFileSync(gateOf('killed-later'), '');
      await stack.waitForEnd(id, { settled: true });
      expect(timesRun('killed-later')).toBe(1);
      expect(await of(id, 'tool.started')).toHaveLength(1);
    });

    together.it('runs once, although its watcher is killed before it begins', async (until) => {
      const { id, link } = await requested('killed-before');
      writeFileSync(gateOf('killed-before'), '');
      await until('the watcher is frozen');
      expect((await decide(link, 'approve')).status).toBe(202);
      await has(id, 'tool.started');
      expect(timesRun('killed-before')).toBe(0);
      await until('the watcher and a runner are killed');
      await stack.waitForEnd(id, { settled: true });
      expect(timesRun('killed-before')).toBe(1);
      expect(await of(id, 'tool.started')).toMatchObject([
        { data: { approval: { approval_id: `${id}.1` } } },
      ]);
    });

    together.it(
      'would run without being asked for on another route: the start warned about that one',
      async () => {
        const log = readFileSync(join(stack.dataDir, 'logs', 'ingress.log'), 'utf8');
        expect(log).toContain('routes.killed: its agent `killed` runs any command');
        expect(log).not.toContain('routes.approved: its agent');
      },
    );

    together.it('is approved by nobody but its approvers, and a denied one never runs', async () => {
      const { id, link } = await requested('denied', 'approved-by-others');
      expect(link).toBe(''); // Whoever reads the message could use it.
      expect((await decideByApi(id, 'deny')).status).toBe(202);
      await has(id, 'session.ended');
      expect([timesRun('denied'), await of(id, 'tool.started')]).toEqual([0, []]);
      expect(await of(id, 'approval.decided')).toMatchObject([
        { data: { decision: 'deny', actor: 'api', way: 'api' }, meta: { actor: 'api' } },
      ]);
    });

    together.it('was decided once, although ingress is killed while four decide at once', async (until) => {
      const { id, link } = await requested('killed-ingress');
      writeFileSync(gateOf('killed-ingress'), '');
      await until('ingress is alone');
      const decisions = Promise.allSettled([
        decide(link, 'approve'),
        decideByApi(id, 'deny'),
        decide(link, 'deny'),
        decideByApi(id, 'approve'),
      ]);
      const killed = stack.kill('ingress');
      await decisions;
      await stack.restarted('ingress', killed);
      // Somebody tries again. Either nobody was taken before, or it is told who was.
      const again = await eventually(() => decideByApi(id, 'approve').catch(() => null));
      expect([202, 409]).toContain(again.status);
      await stack.waitForEnd(id, { settled: true });
      const [decided, ...more] = await of(id, 'approval.decided');
      expect(more).toEqual([]);
      expect(['api', 'link']).toContain(decided?.data.actor);
      expect(decided?.meta.actor).toBe(decided?.data.actor);
      expect(timesRun('killed-ingress')).toBe(decided?.data.decision === 'approve' ? 1 : 0);
    });
  });
}
