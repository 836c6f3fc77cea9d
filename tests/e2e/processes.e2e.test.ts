import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withoutFences } from '@angelia/session';
import {
  answer,
  callTool,
  closedGate,
  type EventView,
  eventually,
  type ModelRequest,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestStack,
  testConfig,
  testRoute,
} from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

// Background processes of agents on the whole system, and failures while they run (seed 004, issue 6).

const MANY = 60;

let sink: Sink;
let model: ModelServer;
let stack: TestStack;
let gates: string;

beforeAll(async () => {
  gates = await mkdtemp(join(tmpdir(), 'angelia-gates-'));
  await chmod(gates, 0o755);
  [sink, model] = await Promise.all([startSink({ secret: TEST_SINK_SECRET }), startModelServer()]);
  model.behave(decideStep);
  stack = await startTestStack({
    config: testConfig({
      sinkUrl: sink.url,
      modelUrl: model.baseUrl,
      agent: { toolsets: ['terminal'] },
      routes: { hook: testRoute(`${sink.url}/{chat}/{thread}`) },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the config
      extra: { secret: '${FOR_ROUTES_ONLY}' },
    }),
    replicas: 'process-watcher=2',
    env: { FOR_ROUTES_ONLY: 'test-webhook-secret' },
  });
});

afterEach(() => {
  sink.behave(answer(200));
  expect(model.problems).toEqual([]);
});

afterAll(async () => {
  await stack?.stop();
  await Promise.all([sink?.stop(), model?.stop()]);
  if (gates !== undefined) await rm(gates, { recursive: true });
});

/** A message is a list of tool calls, one per step. Then the model repeats the last result. It also repeats notices. */
function decideStep(request: ModelRequest) {
  if (request.input.startsWith('[Background process')) return say(`noticed ${withoutFences(request.input)}`);
  const { calls } = JSON.parse(request.input) as { calls: [string, Record<string, unknown>][] };
  const next = calls[request.results.length];
  if (next === undefined) return say(`did ${request.results.at(-1)}`);
  const [tool, args] = next;
  const started = request.results.map((result) => JSON.parse(result)).find((result) => result.process_id);
  return callTool(tool, tool === 'process' ? { process_id: started?.process_id, ...args } : args);
}

const background = (
  command: string,
  more: Record<string, unknown> = {},
): [string, Record<string, unknown>] => [
  'terminal',
  { command, background: true, notify_on_complete: true, ...more },
];

let sent = 0;
async function post(...calls: [string, Record<string, unknown>][]): Promise<string> {
  sent += 1;
  const [chat, thread] = [`chat-${sent}`, `thread-${sent}`];
  const { status, sessionId } = await stack.post({
    body: { text: JSON.stringify({ n: sent, calls }), chat, thread },
  });
  expect(status).toBe(202);
  chats.set(sessionId, `/${chat}/${thread}`);
  return sessionId;
}
const chats = new Map<string, string>();

const of = (events: readonly EventView[], type: string) => events.filter((event) => event.type === type);
const started = (id: string) =>
  eventually(async () => of(await stack.events(id), 'process.started').at(0)?.data, {
    describe: 'a process',
  });
/** Waits until it is recorded as delivered as well: a sender that is killed before that sends it again, marked as a duplicate. */
const answered = (id: string, times = 1) =>
  eventually(async () => of(await stack.events(id), 'delivery.succeeded').length >= times, {
    describe: `${times} answers of ${id}`,
  });

const printed = (processId: string, text: string) =>
  eventually(async () => {
    const { body } = await api('GET', `/v1/processes/${processId}/output`);
    return (body as { output?: string }).output?.includes(text);
  });

/** The session's chat got the answer of the turn and then the notice, once, at the right place. */
async function expectOneNotice(id: string, notice: string): Promise<void> {
  await stack.waitForEnd(id, { settled: true });
  const events = await stack.events(id);
  expect(of(events, 'process.exited').length + of(events, 'process.lost').length).toBe(1);
  expect(of(events, 'turn.requested')).toHaveLength(2);
  expect(of(events, 'session.ended')).toHaveLength(1);
  expect(sink.answersOf(id)).toEqual([expect.stringMatching(/^did /), `noticed ${notice}`]);
  expect(new Set(sink.taken(id).map(({ path }) => path))).toEqual(new Set([chats.get(id)]));
}

async function killed(...names: string[]): Promise<void> {
  const pids = names.map((name) => [name, stack.kill(name)] as const);
  for (const [name, pid] of pids) await stack.restarted(name, pid);
}

const watchers = ['process-watcher', 'process-watcher-2'];
const services = ['ingress', 'agent-runner', 'delivery', ...watchers];

describe('a background process', () => {
  // For failures of the watchers, of the target, and for a cancelled session see tests/seeds/e-watchers.e2e.test.ts.
  it.each([
    ['the runner', ['agent-runner']],
    ['watchers and runner', [...watchers, 'agent-runner']],
    ['everything', [...services, 'nats', 'postgres']],
  ])(
    'reports to the chat and thread that started it, once, when %s was killed (-9) while it ran',
    async (_what, names) => {
      const gate = await closedGate(gates);
      const id = await post(background(`echo working; ${gate.wait}; echo done; exit 7`));
      const { process_id } = await started(id);
      await answered(id);
      await killed(...names);
      await gate.open();
      await expectOneNotice(id, `[Background process ${process_id} exited with exit code 7]\nworking\ndone`);
    },
  );

  it('whose supervisor is killed is lost, and reported as lost', async () => {
    const id = await post(background('while :; do echo tick; sleep 0.1; done'));
    const { process_id, pid } = await started(id);
    await answered(id);
    await printed(String(process_id), 'tick');
    const parent = Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]);
    process.kill(parent, 'SIGKILL');
    await eventually(async () => of(await stack.events(id), 'process.lost').length === 1);
    await stack.waitForEnd(id, { settled: true });
    expect(sink.answersOf(id)[1]).toMatch(
      new RegExp(`^noticed \\[Background process ${process_id} was lost\\]\\ntick`),
    );
  });

  it(// For `log`, and for an end before these calls, see background.int.test.ts.
  'that the model waits for or kills starts no further turn', async () => {
    const ids = await Promise.all([
      post(background('exit 1'), ['process', { action: 'wait' }]),
      post(background('sleep 300'), ['process', { action: 'kill' }]),
    ]);
    for (const id of ids) {
      await stack.waitForEnd(id, { settled: true });
      const events = await stack.events(id);
      expect(of(events, 'process.exited')).toHaveLength(1);
      expect(of(events, 'process.completion-consumed')).toHaveLength(1);
      expect(sink.answersOf(id)).toHaveLength(1);
    }
  });

  it('can be listed, read and ended by API, and its session gets a notice', async () => {
    const id = await post(background('echo one; echo two; sleep 300'));
    const { process_id: processId } = await started(id);
    await answered(id);
    expect(await stack.session(id)).toMatchObject({
      status: 'waiting',
      processes: [{ id: processId, status: 'running' }],
    });
    await printed(String(processId), 'two');
    expect(await api('GET', `/v1/processes/${processId}/output?offset=4`)).toEqual({
      status: 200,
      body: {
        id: processId,
        session_id: id,
        status: 'running',
        output: 'two\n',
        offset: 4,
        next_offset: 8,
        kept_from: 0,
        at_end: true,
      },
    });
    expect((await api('POST', `/v1/processes/${processId}/kill`)).status).toBe(202);
    await expectOneNotice(
      id,
      `[Background process ${processId} exited with signal SIGTERM]\nIt was ended: on request.\none\ntwo`,
    );
    expect((await api('POST', `/v1/processes/${processId}/kill`)).status).toBe(409);
    expect((await api('GET', `/v1/processes/${processId}/output`)).body).toMatchObject({
      output: 'one\ntwo\n',
    });
  });
});

it('process-watcher has neither model keys nor secrets in its environment', () => {
  for (const name of watchers) {
    const environment = readFileSync(`/proc/${stack.pid(name)}/environ`, 'utf8');
    expect(environment).toContain('DATABASE_URL=');
    expect(environment).not.toMatch(/FOR_ROUTES_ONLY|ANGELIA_ADMIN_TOKEN|ANGELIA_MASTER_KEY/);
  }
});

it(`${MANY} processes at once, a watcher killed in the middle: each chat gets its notice once, with the exit code`, async () => {
  const gate = await closedGate(gates);
  const ids = await Promise.all(
    Array.from({ length: MANY }, (_, n) => post(background(`${gate.wait}; echo I am ${n}; exit ${n}`))),
  );
  const running = join(stack.dataDir, 'processes', 'running');
  await eventually(() => readdirSync(running).filter((name) => name.includes('~proc_')).length === MANY, {
    describe: `${MANY} processes at once`,
  });
  await killed('process-watcher');
  await gate.open();
  for (const [n, id] of ids.entries()) {
    const { process_id } = await started(id);
    await expectOneNotice(id, `[Background process ${process_id} exited with exit code ${n}]\nI am ${n}`);
  }
});

async function api(method: string, path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(new URL(path, stack.baseUrl), {
    method,
    headers: { authorization: `Bearer ${stack.adminToken}` },
  });
  return { status: response.status, body: await response.json() };
}
