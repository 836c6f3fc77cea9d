import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withoutFences } from '@angelia/session';
import {
  answer,
  callTool,
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

// Background processes of agents on the whole system, and what can happen to it while they run (seed 004, issue 6).

const TEST_MS = 180_000;

let sink: Sink;
let model: ModelServer;
let stack: TestStack;

beforeAll(async () => {
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
});

/** A message is a list of tool calls, one per step; then the model says how the last went. A notice is repeated. */
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
/** Also recorded as delivered: a sender that is killed in between sends it again, marked as a possible duplicate. */
const answered = (id: string, times = 1) =>
  eventually(async () => of(await stack.events(id), 'delivery.succeeded').length >= times, {
    describe: `${times} answers of ${id}`,
  });

/** What the session's chat heard: the answer of the turn, and then the notice, once, at the right place. */
async function expectOneNotice(id: string, notice: string): Promise<void> {
  await stack.waitForEnd(id, { settled: true, deadlineMs: 90_000 });
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
  it.each([
    ['the watchers', watchers],
    ['the runner', ['agent-runner']],
    ['watchers and runner', [...watchers, 'agent-runner']],
    ['everything', [...services, 'nats', 'postgres']],
  ])(
    'reports to the chat and thread that started it, once, when %s was killed (-9) while it ran',
    async (_what, names) => {
      const id = await post(background('echo working; sleep 4; echo done; exit 7'));
      const { process_id } = await started(id);
      await answered(id);
      await killed(...names);
      await expectOneNotice(id, `[Background process ${process_id} exited with exit code 7]\nworking\ndone`);
    },
    TEST_MS,
  );

  it(
    'that exits while the watchers are down is reported when they are back',
    async () => {
      const id = await post(background('sleep 1.5; echo bye; exit 3'));
      const { process_id, watcher } = await started(id);
      await answered(id);
      for (const name of watchers) await stack.hold(name);
      const file = join(stack.dataDir, 'processes', id, String(process_id), 'exit.json');
      await eventually(() => existsSync(file));
      expect(of(await stack.events(id), 'process.exited')).toEqual([]);
      for (const name of watchers) await stack.resume(name);
      await expectOneNotice(id, `[Background process ${process_id} exited with exit code 3]\nbye`);
      expect(watchers).toContain(watcher);
    },
    TEST_MS,
  );

  it(
    'whose supervisor is killed is lost, and said to be',
    async () => {
      const id = await post(background('while :; do echo tick; sleep 0.1; done'));
      const { process_id, pid } = await started(id);
      await answered(id);
      const parent = Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]);
      process.kill(parent, 'SIGKILL');
      await eventually(async () => of(await stack.events(id), 'process.lost').length === 1);
      await stack.waitForEnd(id, { settled: true });
      expect(sink.answersOf(id)[1]).toMatch(
        new RegExp(`^noticed \\[Background process ${process_id} was lost\\]\\ntick`),
      );
    },
    TEST_MS,
  );

  it(
    'whose target is down when the notice is due is told of when it is back',
    async () => {
      const id = await post(background('sleep 0.5; exit 4'));
      const { process_id } = await started(id);
      await answered(id);
      sink.behave(answer(500));
      await eventually(async () => of(await stack.events(id), 'delivery.failed').length > 0);
      sink.behave(answer(200));
      await expectOneNotice(id, `[Background process ${process_id} exited with exit code 4]`);
    },
    TEST_MS,
  );

  it(
    'that the model waits for, reads to the end or kills makes no further turn',
    async () => {
      const ids = await Promise.all([
        post(background('sleep 0.5; exit 1'), ['process', { action: 'wait' }]),
        post(
          background('echo over; exit 2'),
          ['terminal', { command: 'sleep 0.5' }],
          ['process', { action: 'log' }],
        ),
        post(background('sleep 300'), ['process', { action: 'kill' }]),
      ]);
      for (const id of ids) {
        await stack.waitForEnd(id, { settled: true });
        const events = await stack.events(id);
        expect(of(events, 'process.exited')).toHaveLength(1);
        expect(of(events, 'process.completion-consumed')).toHaveLength(1);
        expect(sink.answersOf(id)).toHaveLength(1);
      }
    },
    TEST_MS,
  );

  it(
    'of a cancelled session is recorded, and nothing else happens',
    async () => {
      const id = await post(background('sleep 2; exit 5'));
      await started(id);
      await answered(id);
      expect((await api('POST', `/v1/sessions/${id}/cancel`)).status).toBe(202);
      await eventually(async () => of(await stack.events(id), 'process.exited').length === 1);
      const events = await stack.events(id);
      expect(of(events, 'process.exited')[0]?.data).toMatchObject({ exit_code: 5 });
      expect(of(events, 'turn.requested')).toHaveLength(1);
      expect(sink.answersOf(id)).toHaveLength(1);
    },
    TEST_MS,
  );

  it(
    'is shown, read and ended over the API, and its session hears of the end',
    async () => {
      const id = await post(background('echo one; echo two; sleep 300'));
      const { process_id: processId } = await started(id);
      await answered(id);
      expect(await stack.session(id)).toMatchObject({
        status: 'waiting',
        processes: [{ id: processId, status: 'running' }],
      });
      const read = await api('GET', `/v1/processes/${processId}/output?offset=4`);
      expect(read).toEqual({
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
    },
    TEST_MS,
  );
});

it('process-watcher has neither model keys nor secrets in its environment', () => {
  for (const name of watchers) {
    const environment = readFileSync(`/proc/${stack.pid(name)}/environ`, 'utf8');
    expect(environment).toContain('DATABASE_URL=');
    expect(environment).not.toMatch(/FOR_ROUTES_ONLY|ANGELIA_ADMIN_TOKEN|ANGELIA_MASTER_KEY/);
  }
});

it(
  '200 processes at once, a watcher killed in the middle: 200 notices, each once, with its exit code, at its own chat',
  async () => {
    const ids = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        post(background(`sleep ${8 + (n % 5)}; echo I am ${n}; exit ${n}`)),
      ),
    );
    await eventually(
      async () => {
        const running = readdirSync(join(stack.dataDir, 'processes', 'running')).length;
        return running >= 150;
      },
      { deadlineMs: 60_000, describe: '150 processes at once' },
    );
    await killed('process-watcher');
    for (const [n, id] of ids.entries()) {
      const { process_id } = await started(id);
      await expectOneNotice(id, `[Background process ${process_id} exited with exit code ${n}]\nI am ${n}`);
    }
  },
  TEST_MS,
);

async function api(method: string, path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(new URL(path, stack.baseUrl), {
    method,
    headers: { authorization: `Bearer ${stack.adminToken}` },
  });
  return { status: response.status, body: await response.json() };
}
