import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  callTool,
  callTools,
  type EventView,
  eventually,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
  type Sink,
  say,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { signalTree } from '../process-tree.ts';
import { addToStack, modelAt, receiver, stack } from '../shared-stack.ts';
import { orphans, summary, tree, wholeTrace } from '../trace-tree.ts';

// A run with tools, and failures of its runner at each point. Black box: the model server, the files that commands write and
// the events show where a run is.

let sink: Sink;
let model: ModelServer;
/** Where commands record that they ran, and wait for a file to appear. */
let traces: string;
/** What the model does with a session whose first message begins with this word. */
let behaviours: Record<string, (request: ModelRequest) => ModelStep>;

const of = (events: readonly EventView[], type: string) => events.filter((event) => event.type === type);
const runnerOf = (events: readonly EventView[]) =>
  String(of(events, 'run.started').at(-1)?.data.runner).split('#')[0] ?? '';
const other = (runner: string) => (runner === 'agent-runner' ? 'agent-runner-2' : 'agent-runner');
const never = say('never seen', 60_000);
const hasResult = (request: ModelRequest) => JSON.stringify(request.body).includes('"role":"tool"');
const requestsOf = (input: string) => model.requests.filter((request) => request.input === input);
const fileOf = (input: string) => join(traces, input.replaceAll(' ', '-'));
const timesRun = (input: string) =>
  existsSync(fileOf(input)) ? readFileSync(fileOf(input), 'utf8').trim().split('\n').length : 0;
/** Records that it runs. With a gate it continues only when that file exists. */
const command = (input: string, gate?: string) =>
  callTool('terminal', {
    command: [
      `echo ran >> ${fileOf(input)}`,
      ...(gate ? [`while [ ! -e ${gate} ]; do sleep 0.05; done`] : []),
      'echo it worked',
    ].join('; '),
  });

async function post(input: string): Promise<string> {
  const { status, sessionId } = await stack.post({ route: 'killed', body: { text: input } });
  expect(status).toBe(202);
  return sessionId;
}

/** It ended, answered and was delivered once, with one owner at a time. */
async function expectOneAnswer(id: string, text: string): Promise<EventView[]> {
  await stack.waitForEnd(id, { settled: true });
  const events = await stack.events(id);
  expect(of(events, 'session.final-response').map(({ data }) => data.text)).toEqual([text]);
  expect(of(events, 'session.ended').map(({ data }) => data.outcome)).toEqual(['succeeded']);
  expect(sink.answersOf(id)).toEqual([text]);
  return events;
}

function cancel(id: string): Promise<Response> {
  return fetch(new URL(`/v1/sessions/${id}/cancel`, stack.baseUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.adminToken}` },
  });
}

/** Whether a program with this text in its command line runs. */
function someCommandWith(text: string): boolean {
  return readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(join('/proc', pid, 'cmdline'), 'utf8').includes(text);
    } catch {
      return false;
    }
  });
}

export function killedRunner(): void {
  addToStack(async () => {
    traces = mkdtempSync(join(tmpdir(), 'angelia-crash-'));
    // Commands run as other users.
    chmodSync(traces, 0o777);
    [sink, model] = await Promise.all([startSink({ secret: TEST_SINK_SECRET }), startModelServer()]);
    model.behave((request) => {
      const word = request.input.split(' ')[0] ?? '';
      return behaviours[word]?.(request) ?? say(`answer to: ${request.input}`);
    });
    return {
      models: { killed: modelAt(model) },
      agents: { killed: { kind: 'llm', model: 'killed', toolsets: ['terminal'] } },
      routes: { killed: testRoute(sink.url, { agent: 'killed' }) },
    };
  });

  afterAll(async () => {
    await Promise.all([sink?.stop(), model?.stop()]);
    rmSync(traces, { recursive: true, force: true });
  });

  describe('a run with tools', () => {
    beforeEach(async () => {
      behaviours = {};
      await eventually(
        async () => (await stack.ready('agent-runner')) && (await stack.ready('agent-runner-2')),
      );
    });

    afterEach(async () => {
      for (const name of ['postgres', 'nats', 'agent-runner', 'agent-runner-2']) {
        signalTree(stack.pid(name), 'SIGCONT');
      }
      expect(model.problems).toEqual([]);
    });

    describe('a runner that is killed (-9)', () => {
      it('at any point of a run: one answer, no command run twice, and the runs of the other runner go on', async () => {
        const gate = join(traces, 'gate');
        let killed = false;
        behaviours = {
          // After the claim, before the model's answer.
          claimed: () => (killed ? say('claimed done') : never),
          // The answer and the start of its call are recorded, and the command runs.
          calling: (request) => (hasResult(request) ? say('calling done') : command(request.input, gate)),
          // The result is recorded, the model is asked again.
          resulted: (request) =>
            !hasResult(request) ? command(request.input) : killed ? say('resulted done') : never,
          // After the final append.
          ended: () => say('ended done'),
        };
        const arrived: Record<string, (input: string, id: string) => boolean | Promise<boolean>> = {
          claimed: (input) => requestsOf(input).length === 1,
          calling: (input) => timesRun(input) === 1,
          resulted: (input) => requestsOf(input).length === 2,
          ended: async (_input, id) => (await stack.session(id)).status === 'ended',
        };
        const runs: { point: string; input: string; id: string; runner: string }[] = [];
        const victim = 'agent-runner-2';
        // The test cannot choose which runner takes a session, so it repeats until each has one at each point.
        for (const [point, isThere] of Object.entries(arrived)) {
          const runners = () =>
            new Set(runs.filter((run) => run.point === point).map(({ runner }) => runner));
          for (let n = 0; n < 20 && runners().size < 2; n += 1) {
            const input = `${point} ${n}`;
            const id = await post(input);
            await eventually(() => isThere(input, id), { describe: `${input} is at its point` });
            runs.push({ point, input, id, runner: runnerOf(await stack.events(id)) });
          }
          expect(runners().size).toBe(2);
        }
        const pid = stack.kill(victim);
        killed = true;
        writeFileSync(gate, '');
        await stack.restarted(victim, pid);
        // The calls of the other runner hang. They do not matter here and are cancelled below.
        for (const { point, id, input, runner } of runs) {
          const hangs = runner !== victim && (point === 'claimed' || point === 'resulted');
          if (hangs) {
            expect(of(await stack.events(id), 'run.started')).toHaveLength(1);
            expect(requestsOf(input).at(-1)?.aborted).toBe(false);
            expect((await cancel(id)).status).toBe(202);
            continue;
          }
          const events = await expectOneAnswer(id, `${point} done`);
          const again = runner === victim && point !== 'ended';
          expect([input, of(events, 'run.started').length]).toEqual([input, again ? 2 : 1]);
          expect([input, timesRun(input)]).toEqual([
            input,
            point === 'calling' || point === 'resulted' ? 1 : 0,
          ]);
          expect(of(events, 'tool.started').length).toBe(of(events, 'tool.finished').length);
          if (point === 'calling')
            expect(JSON.stringify(requestsOf(input).at(-1)?.body)).toContain('it worked');
          if (point === 'ended') expect(requestsOf(input)).toHaveLength(1);
        }
      });

      it('while its last append is under way: one answer', async () => {
        behaviours = { last: () => say('last done', 500) };
        const id = await post('last words');
        await eventually(() => requestsOf('last words').length === 1);
        const runner = runnerOf(await stack.events(id));
        signalTree(stack.pid('postgres'), 'SIGSTOP');
        await eventually(() => requestsOf('last words')[0]?.answered, { everyMs: 10 });
        stack.kill(runner);
        signalTree(stack.pid('postgres'), 'SIGCONT');
        await expectOneAnswer(id, 'last done');
      });
    });

    describe('a runner that is frozen beyond its lease while a command runs', () => {
      it('is taken over; the command does not run again; after it wakes up it appends nothing and takes new work', async () => {
        const gate = join(traces, 'thawed');
        behaviours = {
          frozen: (request) => (hasResult(request) ? say('frozen done') : command(request.input, gate)),
        };
        const id = await post('frozen one');
        await eventually(() => timesRun('frozen one') === 1);
        const runner = runnerOf(await stack.events(id));
        stack.freeze(runner);
        await eventually(async () => of(await stack.events(id), 'run.started').length === 2);
        writeFileSync(gate, '');
        const events = await expectOneAnswer(id, 'frozen done');
        expect(runnerOf(events)).toBe(other(runner));
        expect(timesRun('frozen one')).toBe(1);

        stack.thaw(runner);
        await stack.hold(other(runner));
        try {
          const next = await post('after the thaw');
          const after = await expectOneAnswer(next, 'answer to: after the thaw');
          expect(runnerOf(after)).toBe(runner);
          expect(await stack.events(id)).toEqual(events);
        } finally {
          await stack.resume(other(runner));
        }
      });
    });

    describe('a runner that cannot reach Postgres', () => {
      it('aborts its model call; when Postgres is back the work is done once', async () => {
        let back = false;
        behaviours = { cut: () => (back ? say('cut done') : never) };
        const id = await post('cut off');
        await eventually(() => requestsOf('cut off').length === 1);
        signalTree(stack.pid('postgres'), 'SIGSTOP');
        // While Postgres is frozen nobody can take the lease. leases.unit.test.ts checks that the abort comes before its end.
        await eventually(() => requestsOf('cut off')[0]?.aborted);
        back = true;
        signalTree(stack.pid('postgres'), 'SIGCONT');
        await expectOneAnswer(id, 'cut done');
      });
    });

    describe('a cancel', () => {
      it('ends the command that the run waits for, and nothing follows', async () => {
        behaviours = { stop: (request) => command(request.input, join(traces, 'there-is-none')) };
        const id = await post('stop this');
        await eventually(() => timesRun('stop this') === 1);
        expect((await cancel(id)).status).toBe(202);
        await eventually(() => !someCommandWith('there-is-none'), { describe: 'the command is ended' });
        const { outcome } = await stack.waitForEnd(id, { settled: true });
        expect(outcome).toBe('cancelled');
        expect(requestsOf('stop this')).toHaveLength(1);
        expect(sink.answersOf(id)).toEqual([]);
      });

      it('also works while NATS is down', async () => {
        behaviours = { deaf: () => never };
        const id = await post('deaf runner');
        await eventually(() => requestsOf('deaf runner').length === 1);
        stack.freeze('nats');
        expect((await cancel(id)).status).toBe(202);
        await eventually(() => requestsOf('deaf runner')[0]?.aborted);
        stack.thaw('nats');
        expect((await stack.waitForEnd(id)).outcome).toBe('cancelled');
      });
    });

    describe('the commands of one step', () => {
      it('run in parallel: each waits for the other', async () => {
        const meet = (mine: string, theirs: string) => ({
          name: 'terminal',
          args: {
            command: `touch ${mine}; until [ -e ${theirs} ]; do sleep 0.02; done; echo met`,
            timeout_seconds: 20,
          },
        });
        behaviours = {
          meet: (request) =>
            hasResult(request) ? say('both met') : callTools(meet('a', 'b'), meet('b', 'a')),
        };
        const id = await post('meet each other');
        const events = await expectOneAnswer(id, 'both met');
        expect(
          of(events, 'tool.finished').map(({ data }) => JSON.parse(String(data.result)).exit_code),
        ).toEqual([0, 0]);
      });
    });

    describe('the trace of a session', () => {
      it('shows its tool calls, by the GenAI conventions and without their content', async () => {
        behaviours = { traced: (request) => (hasResult(request) ? say('done') : command(request.input)) };
        const id = await post('traced session');
        const { trace_id } = await stack.waitForEnd(id, { settled: true });
        const spans = await receiver.traceWith(trace_id, ['invoke_agent killed', 'execute_tool terminal']);
        const span = spans.find(({ name }) => name === 'execute_tool terminal');
        const started = of(await stack.events(id), 'tool.started')[0];
        expect(span?.attributes).toMatchObject({
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'terminal',
          'gen_ai.tool.call.id': started?.data.call_id,
          'gen_ai.conversation.id': id,
        });
        expect(span?.parentSpanId).toBe(spans.find(({ name }) => name === 'invoke_agent killed')?.spanId);
        expect(JSON.stringify(spans)).not.toContain('it worked');
        expect(JSON.stringify(spans)).not.toContain('echo ran');
      });

      it('has the spans that its killed runner could not export, and no span without its parent', async () => {
        const input = 'survivor session';
        const gate = join(traces, 'survivor-gate');
        behaviours = { survivor: (request) => (hasResult(request) ? say('done') : command(input, gate)) };
        const id = await post(input);
        await eventually(() => timesRun(input) === 1);
        const runner = runnerOf(await stack.events(id));
        const killed = stack.kill(runner);
        writeFileSync(gate, '');
        await expectOneAnswer(id, 'done');
        await stack.restarted(runner, killed);
        const { trace_id } = await stack.session(id);
        const spans = await wholeTrace(receiver, trace_id, { 'deliver http': 1, 'invoke_agent killed': 2 });
        expect(tree(spans)).toEqual([
          'ingress: webhook killed',
          '  agent-runner: invoke_agent killed',
          '    agent-runner: chat m1',
          '  agent-runner: invoke_agent killed (error)',
          // The answer of the model was recorded, so the run was killed at least a moment after this span ended.
          ...(spans.filter(({ name }) => name === 'chat m1').length === 2
            ? ['    agent-runner: chat m1']
            : []),
          '    agent-runner: execute_tool terminal',
          '      process-watcher: carry out terminal',
          '  delivery: deliver http',
        ]);
        const lost = spans.find(({ name, status }) => name === 'invoke_agent killed' && status === 'error');
        expect(lost?.attributes).toMatchObject({ 'error.type': 'lost', 'angelia.generation': 1 });
      });

      it('is whole for every session above, however its runner ended', async () => {
        // There is at least this one, whatever ran before.
        behaviours = { whole: () => say('done') };
        await stack.waitForEnd(await post('whole session'), { settled: true });
        // A runner that is killed right after its last append exports nothing more. It may have exported its model calls.
        // Others on this stack kill ingress as well, and with it the root of a trace.
        const ours = () => {
          const runs = receiver.spans.filter(({ name }) => name === 'invoke_agent killed');
          const traceIds = new Set(runs.map(({ traceId }) => traceId));
          return receiver.spans.filter(({ traceId }) => traceIds.has(traceId));
        };
        const missing = () => orphans(ours()).filter(({ name }) => !name.startsWith('chat '));
        await eventually(() => ours().length > 0 && missing().length === 0, {
          describe: () => summary(missing()),
        });
        const spans = ours();
        const ids = spans.map(({ spanId }) => spanId);
        const twice = spans.filter(({ spanId }, at) => ids.indexOf(spanId) !== at);
        // A killed runner may have exported what its successor exports again. Then they are the same.
        for (const span of twice) {
          const first = spans[ids.indexOf(span.spanId)];
          expect({ ...span, resource: null }).toEqual({ ...first, resource: null });
        }
      });
    });
  });
}
