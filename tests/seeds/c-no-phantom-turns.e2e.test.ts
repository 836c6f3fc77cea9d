import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import {
  callTool,
  callTools,
  deleteHintStream,
  type EventView,
  eventually,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
  type Sink,
  say,
  startModelServer,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestStack,
  type ToolCallStep,
  testConfig,
  testRoute,
} from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, describe, expect } from '@jest/globals';
import { sideBySide, type Then } from '../side-by-side.ts';
import { adminCall, eventsOf } from './admin.ts';

// Seed 002: no stale resume, no phantom turns (C1 to C14 of SCENARIOS.md), on the whole system. The scenarios run side by
// side and share the crashes; the story at the end of this file says what happens when. To see that nothing happens, a
// scenario waits for `everythingDueWasHinted`: by then the sweep had its chance to start what it must not start.

/** Longer than the runners are down, even on a busy machine: C2 is about a runner that is back in time. */
const FRESHNESS_SECONDS = 20;
/** Shorter than the runners are down: C3 is about a runner that is back too late. */
const SHORT_FRESHNESS_SECONDS = 2;
const QUESTION_SECONDS = 3;
const STATUS_SECONDS = 0.5;
const RUNNERS = ['agent-runner', 'agent-runner-2'];
const OTHERS = ['ingress', 'delivery', 'process-watcher'];

type Moment =
  | 'all is ready for the outage'
  | 'delivery is down'
  | 'the runners are down'
  | 'all is down'
  | 'all is back'
  | 'all that is due was hinted'
  | 'the second restart'
  | 'runner and watcher are down'
  | 'the third restart'
  | 'the fourth restart'
  | 'a drain'
  | 'all that is due was hinted again';
/** Enough for the slowest scenario on a busy machine. A step of `2 * TEST_MS` never arrives. */
const TEST_MS = 240_000;
const together = sideBySide<Moment>(TEST_MS);

let sink: Sink;
let model: ModelServer;
let bank: Bank;
let stack: TestStack;
/** Where commands record that they ran, and wait for a file to appear. */
let files: string;

beforeAll(async () => {
  files = mkdtempSync(join(tmpdir(), 'angelia-seed-c-'));
  // Commands run as other users.
  chmodSync(files, 0o777);
  [sink, model, bank] = await Promise.all([
    startSink({ secret: TEST_SINK_SECRET }),
    startModelServer(),
    startBank(),
  ]);
  model.behave(nextStep);
  const llm = { kind: 'llm', model: 'main', toolsets: ['terminal', 'clarify'], status_interval_seconds: 0 };
  const agents = {
    stale_later: { ...llm, resume: { freshness_seconds: FRESHNESS_SECONDS } },
    soon_stale: { ...llm, resume: { freshness_seconds: SHORT_FRESHNESS_SECONDS } },
    two_attempts: { ...llm, resume: { max_attempts: 2 } },
    three_attempts: { ...llm, resume: { max_attempts: 3 } },
    asks_briefly: { ...llm, clarify: { timeout_seconds: QUESTION_SECONDS } },
    says_status: { ...llm, status_interval_seconds: STATUS_SECONDS },
    pays: { ...llm, toolsets: ['mcp:bank'] },
    echo: { kind: 'llm', model: 'demo' },
  };
  stack = await startTestStack({
    config: testConfig({
      sinkUrl: sink.url,
      modelUrl: model.baseUrl,
      // Long enough for a starved machine. A run that loses its lease there is rightly done again.
      timing: { lease_seconds: 8, sweep_seconds: 1 },
      agent: llm,
      agents,
      routes: {
        ...Object.fromEntries(Object.keys(agents).map((agent) => [agent, testRoute(sink.url, { agent })])),
        interrupts: testRoute(sink.url, {
          agent: 'says_status',
          session_key: '{key}',
          on_busy: 'interrupt',
        }),
        timed: testRoute(sink.url, {
          agent: 'echo',
          coalesce: { key: '{text}', window_seconds: 2 },
        }),
      },
      extra: { mcp_servers: { bank: { url: bank.url } } },
    }),
    replicas: 'agent-runner=2',
    env: { ANGELIA_DRAIN_SECONDS: '3' },
  });
  together.begin(story);
});

afterEach(() => {
  expect(model.problems).toEqual([]);
  expect(sink.received.every(({ signature }) => signature === 'valid')).toBe(true);
});

afterAll(async () => {
  await together.over();
  await stack?.stop();
  await Promise.all([sink?.stop(), model?.stop(), bank?.stop()]);
  rmSync(files, { recursive: true, force: true });
});

// The model: the first word of a webhook names its session, which has a list of steps, one per request.

type Step = ModelStep | ((request: ModelRequest) => ModelStep);
const scripts = new Map<string, Step[]>();
const never = say('never seen', 2 * TEST_MS);

function nextStep(request: ModelRequest): ModelStep {
  const task = taskOf(request);
  const step = scripts.get(task)?.[requestsOf(task).indexOf(request)] ?? say(`answer to: ${request.input}`);
  return typeof step === 'function' ? step(request) : step;
}

function taskOf({ body }: ModelRequest): string {
  const first = body.messages.find(({ role }) => role === 'user')?.content;
  return String(first).split(' ')[0] ?? '';
}

const requestsOf = (task: string) => model.requests.filter((request) => taskOf(request) === task);
const asked = (task: string, times: number) =>
  eventually(() => requestsOf(task).length >= times, { describe: `${task}: the model is asked ${times}x` });
const systemOf = (request: ModelRequest | undefined) =>
  String(request?.body.messages.find(({ role }) => role === 'system')?.content);
const conversationOf = (request: ModelRequest | undefined) =>
  request?.body.messages.filter(({ role }) => role !== 'system');

/** Posts a webhook whose session follows these steps. After the last step the model answers the input. */
async function post(task: string, steps: Step[], route = 'hook', more: object = {}): Promise<string> {
  scripts.set(task, steps);
  const { status, sessionId } = await stack.post({ route, body: { text: `${task} please`, ...more } });
  expect(status).toBe(202);
  return sessionId;
}

async function message(id: string, text: string, more: object = {}): Promise<string> {
  const { status, body } = await adminCall(stack, 'POST', `/v1/sessions/${id}/messages`, { text, ...more });
  expect(status).toBe(202);
  return String(body.session_id);
}

// Commands.

const fileOf = (name: string) => join(files, name);
const gate = (name: string) => fileOf(`${name}.gate`);
const open = (name: string) => writeFileSync(gate(name), '');
const untilOpen = (name: string) => `while [ ! -e ${gate(name)} ]; do sleep 0.05; done`;
const timesRun = (task: string) =>
  existsSync(fileOf(task)) ? readFileSync(fileOf(task), 'utf8').trim().split('\n').length : 0;
/** Records that it runs, then does this. */
const command = (task: string, ...then: string[]) =>
  callTool('terminal', { command: [`echo $$ >> ${fileOf(task)}`, ...then].join('; ') });
const inBackground = (line: string, more: object): ToolCallStep => ({
  name: 'terminal',
  args: { command: line, background: true, ...more },
});
const killIt = (request: ModelRequest) =>
  callTool('process', { action: 'kill', process_id: startedIn(request.results[0]) });
const startedIn = (result: string | undefined) => JSON.parse(result ?? '{}').process_id as string;

// Observations.

const runsOf = (events: readonly EventView[]) =>
  eventsOf(events, 'run.started').map(({ data }) => [data.turn, data.attempt, data.resumed]);
const has = (id: string, type: string, times = 1) =>
  eventually(async () => eventsOf(await stack.events(id), type).length >= times, {
    describe: `${id} has ${times} ${type}`,
  });
const heard = (id: string, times = 1) =>
  eventually(() => sink.answersOf(id).length >= times, { describe: `${times} answers of ${id}` });
const questioned = (id: string) => has(id, 'delivery.succeeded');
const textsOf = (id: string) => sink.taken(id).map(({ payload }) => payload.text);

/** Everything that can be seen of these sessions, for a later comparison. */
const trail = async (tasks: Record<string, string>) =>
  Promise.all(
    Object.entries(tasks).map(async ([task, id]) => ({
      task,
      events: await stack.events(id),
      modelCalls: requestsOf(task).length,
      sent: sink.received.filter(({ payload }) => payload.session_id === id).length,
    })),
  );

async function ended(id: string, outcome = 'succeeded'): Promise<EventView[]> {
  await stack.waitForEnd(id, { settled: true });
  const events = await stack.events(id);
  expect(eventsOf(events, 'session.ended').map(({ data }) => [data.outcome, data.reason])).toEqual([
    [outcome, 'webhook_complete'],
  ]);
  return events;
}

// Actions on the system.

/** kill -9. They stay down until `start`. */
async function crash(...names: string[]): Promise<void> {
  for (const name of names) stack.kill(name);
  await Promise.all(names.map((name) => stack.hold(name)));
}

async function start(...names: string[]): Promise<void> {
  await Promise.all(names.map((name) => stack.resume(name)));
  await Promise.all(
    names.map((name) => eventually(() => stack.ready(name), { describe: `${name} is ready` })),
  );
}

/**
 * Waits for a session that only the timers start, more than a whole sweep from now. Everything that was due before it has
 * been hinted before it, and the runner handled that first.
 */
let passes = 0;
async function everythingDueWasHinted(): Promise<void> {
  passes += 1;
  const { sessionId } = await stack.post({ route: 'timed', body: { text: `pass ${passes}` } });
  await stack.waitForEnd(sessionId, { settled: true });
}

const passed = (time: number) => eventually(() => Date.now() > time, { describe: 'time has passed' });

describe('seed 002: no stale resume, no phantom turns', () => {
  together.it('C1 the tail is a final answer: a restart starts nothing', async (until) => {
    await until('all is ready for the outage');
    const over = await post('c1-over', [say('it is over')]);
    // Answered, but still open: it waits for a process.
    const waits = await post('c1-waits', [
      callTools(inBackground(untilOpen('c1'), { notify_on_complete: true })),
      say('it runs'),
    ]);
    await Promise.all([heard(over), heard(waits), ended(over)]);
    await eventually(async () => (await stack.session(waits)).deliveries.pending === 0);
    const tasks = { 'c1-over': over, 'c1-waits': waits };
    const before = await trail(tasks);

    await until('the second restart');
    await everythingDueWasHinted();
    expect(await trail(tasks)).toEqual(before);

    // The waiting session is not forgotten either.
    open('c1');
    await ended(waits);
    expect(sink.answersOf(waits)).toEqual(['it runs', expect.stringContaining('exited with exit code 0')]);
  });

  together.it(
    'C2 the tail is a recent tool call or tool result: exactly one resumed run, whichever service starts first',
    async (until) => {
      // Its last event is old, but its runner was alive all the time.
      const slow = await post('c2-slow', [command('c2-slow'), never, say('slow done')], 'stale_later');
      await asked('c2-slow', 2);
      await passed(Date.now() + FRESHNESS_SECONDS * 1000);
      await until('all is ready for the outage');
      const call = await post('c2-call', [
        command('c2-call', untilOpen('c2'), 'echo worked'),
        say('call done'),
      ]);
      const result = await post('c2-result', [command('c2-result'), never, say('result done')]);
      await eventually(() => timesRun('c2-call') === 1);
      await asked('c2-result', 2);
      await until('the runners are down');
      expect((await stack.events(call)).at(-1)?.type).toBe('tool.started');
      expect((await stack.events(result)).at(-1)?.type).toBe('tool.finished');

      await until('all is back');
      await has(call, 'run.started', 2);
      open('c2');
      for (const [id, task, text] of [
        [call, 'c2-call', 'call done'],
        [result, 'c2-result', 'result done'],
        [slow, 'c2-slow', 'slow done'],
      ] as const) {
        const events = await ended(id);
        expect(runsOf(events)).toEqual([
          [1, 1, false],
          [1, 1, true],
        ]);
        expect(sink.answersOf(id)).toEqual([text]);
        expect(timesRun(task)).toBe(1);
      }
      expect(requestsOf('c2-call')).toHaveLength(2);
      expect(requestsOf('c2-result')).toHaveLength(3);
      expect(requestsOf('c2-slow')).toHaveLength(3);
      const tasks = { 'c2-call': call, 'c2-result': result, 'c2-slow': slow };
      const before = await trail(tasks);
      await until('all that is due was hinted');
      expect(await trail(tasks)).toEqual(before);
    },
  );

  together.it(
    'C3 five restarts in a row without a sign of life in the freshness window: it expires once; a turn that never started runs',
    async (until) => {
      const stale = await post('c3-stale', [never], 'soon_stale');
      const followed = await post('c3-followed', [never], 'soon_stale');
      await Promise.all([asked('c3-stale', 1), asked('c3-followed', 1)]);
      await until('the runners are down');
      const queued = await post('c3-queued', [], 'soon_stale');
      await message(followed, 'and then?');
      await until('all is back');
      await Promise.all([heard(stale), heard(queued), heard(followed, 2)]);
      await Promise.all([stale, queued, followed].map((id) => stack.waitForEnd(id, { settled: true })));
      const tasks = { 'c3-stale': stale, 'c3-queued': queued, 'c3-followed': followed };
      const before = await trail(tasks);
      await until('all that is due was hinted again');
      expect(await trail(tasks)).toEqual(before);

      const expired = await ended(stale, 'expired');
      expect(runsOf(expired)).toEqual([[1, 1, false]]);
      expect(eventsOf(expired, 'run.failed').map(({ data }) => data.code)).toEqual(['stale']);
      expect(textsOf(stale)).toEqual([expect.stringContaining('was not resumed in time')]);
      expect(requestsOf('c3-stale')).toHaveLength(1);

      expect(sink.answersOf(queued)).toEqual(['answer to: c3-queued please']);
      // Each turn is judged alone: the one behind it had not started.
      const both = eventsOf(await stack.events(followed), 'session.final-response');
      expect(both.map(({ data }) => [data.turn, data.outcome])).toEqual([
        [1, 'expired'],
        [2, 'succeeded'],
      ]);
      expect(textsOf(followed)).toEqual([
        expect.stringContaining('was not resumed in time'),
        'answer to: and then?',
      ]);
    },
  );

  together.it(
    'C4 resumed runs that are killed before their first step: the model sees one note, and attempts stay capped',
    async (until) => {
      const id = await post('c4', [never, never, never], 'three_attempts');
      await asked('c4', 1);
      await until('all is back');
      await asked('c4', 2);
      await until('the second restart');
      await asked('c4', 3);
      await until('the third restart');
      const events = await ended(id, 'failed');
      expect(runsOf(events)).toEqual([
        [1, 1, false],
        [1, 2, true],
        [1, 3, true],
      ]);
      const [first, second, third, ...more] = requestsOf('c4');
      expect(more).toEqual([]);
      expect(systemOf(second).startsWith(systemOf(first))).toBe(true);
      expect(systemOf(second)).toContain('interrupted');
      expect(systemOf(first)).not.toContain('interrupted');
      expect(third?.body.messages).toEqual(second?.body.messages);
      expect(conversationOf(third)).toEqual(conversationOf(first));
      expect(textsOf(id)).toEqual([expect.stringContaining('could not be finished')]);
    },
  );

  together.it(
    'C5 an open question survives restarts, or ends at its deadline; a later message is a new turn',
    async (until) => {
      const question = (what: string) => callTool('clarify', { question: what });
      const patient = await post('c5-patient', [question('Red or blue?'), say('painted')]);
      const aside = await post('c5-aside', [question('Which?')]);
      await Promise.all([patient, aside].map(questioned));
      // It does not wait for the deadline: the question is superseded.
      await message(aside, 'something else', { new_turn: true });
      const superseded = await ended(aside);
      const before = await trail({ 'c5-patient': patient });
      await until('all is ready for the outage');
      // Its deadline passes while the services are down.
      const late = await post('c5-late', [question('Which?')], 'asks_briefly');
      await questioned(late);
      await until('all is back');
      const gone = await ended(late, 'expired');
      expect(runsOf(gone)).toEqual([[1, 1, false]]);
      expect(requestsOf('c5-late')).toHaveLength(1);
      expect(sink.answersOf(late)).toEqual([expect.stringContaining('No answer to the question')]);

      expect(runsOf(superseded)).toEqual([
        [1, 1, false],
        [2, 1, false],
      ]);
      expect(sink.answersOf(aside)).toEqual(['answer to: something else']);
      const [firstAsked, nextAsked] = requestsOf('c5-aside');
      expect(systemOf(nextAsked)).toBe(systemOf(firstAsked));

      // Now nothing of theirs is in flight. Otherwise a resume would be right.
      await until('the second restart');
      const next = await message(late, 'what time is it?');
      expect(next).not.toBe(late);
      await heard(next);
      expect(sink.answersOf(next)).toEqual(['answer to: what time is it?']);
      expect(runsOf(await stack.events(next))).toEqual([[1, 1, false]]);
      expect(requestsOf('c5-late')).toHaveLength(2);
      expect(systemOf(requestsOf('c5-late')[1])).toBe(systemOf(requestsOf('c5-late')[0]));

      await until('all that is due was hinted again');
      expect(await trail({ 'c5-patient': patient })).toEqual(before);
      expect((await stack.session(patient)).status).toBe('waiting');
      await message(patient, 'blue');
      // An answer does not interrupt.
      expect(runsOf(await ended(patient))).toEqual([
        [1, 1, false],
        [1, 1, false],
      ]);
      expect(sink.answersOf(patient)).toEqual(['painted']);
      expect(requestsOf('c5-patient')[1]?.results).toEqual(['{"answer":"blue"}']);
    },
  );

  together.it(
    'C6 one run finishes during a drain and another hangs: only the hanging one is resumed',
    async (until) => {
      await until('the fourth restart');
      const finishes = await post('c6-finishes', [say('in time', 1_000)]);
      const hangs = await post('c6-hangs', [never, say('after all')]);
      await Promise.all([asked('c6-finishes', 1), asked('c6-hangs', 1)]);
      await until('a drain');
      const [first, second] = [await ended(finishes), await ended(hangs)];
      expect(runsOf(first)).toEqual([[1, 1, false]]);
      expect(eventsOf(first, 'run.interrupted')).toEqual([]);
      expect(sink.answersOf(finishes)).toEqual(['in time']);
      expect(requestsOf('c6-finishes')).toHaveLength(1);

      expect(eventsOf(second, 'run.interrupted').map(({ data }) => data.reason)).toEqual(['drain']);
      // The attempt that the drain ended does not count.
      expect(runsOf(second)).toEqual([
        [1, 1, false],
        [1, 1, true],
      ]);
      expect(sink.answersOf(hangs)).toEqual(['after all']);
      const tasks = { 'c6-finishes': finishes, 'c6-hangs': hangs };
      const before = await trail(tasks);
      await until('all that is due was hinted again');
      expect(await trail(tasks)).toEqual(before);
    },
  );

  together.it(
    'C7 a failed resume is retried up to the cap; attempts count before the dispatch, and again from zero after progress',
    async (until) => {
      const id = await post(
        'c7',
        [never, command('c7', 'echo progress'), never, never, never],
        'two_attempts',
      );
      const attemptsSoFar: unknown[] = [];
      for (const [calls, crash] of [
        [1, 'all is back'],
        [3, 'the second restart'],
        [4, 'the third restart'],
        [5, 'the fourth restart'],
      ] as const) {
        await asked('c7', calls);
        // The model has just been asked, so the run is in the log whatever happens to it.
        attemptsSoFar.push(eventsOf(await stack.events(id), 'run.started').at(-1)?.data.attempt);
        await until(crash);
      }
      expect(attemptsSoFar).toEqual([1, 2, 1, 2]);
      const events = await ended(id, 'failed');
      expect(runsOf(events)).toHaveLength(4);
      expect(eventsOf(events, 'run.failed').map(({ data }) => data.code)).toEqual(['attempts']);
      expect(textsOf(id)).toEqual([expect.stringContaining('could not be finished')]);
      expect(timesRun('c7')).toBe(1);
    },
  );

  together.it(
    'C8 messages that arrive before and during a resume: one run at a time, in order',
    async (until) => {
      await until('all is ready for the outage');
      const id = await post('c8', [command('c8', untilOpen('c8')), say('first')]);
      await eventually(() => timesRun('c8') === 1);
      await until('the runners are down');
      await message(id, 'second');
      await until('all is back');
      await has(id, 'run.started', 2);
      await message(id, 'third');
      await until('all that is due was hinted');
      expect(await stack.session(id)).toMatchObject({ status: 'running', generation: 2 });
      expect(requestsOf('c8')).toHaveLength(1);

      open('c8');
      const events = await ended(id);
      const order = ['run.started', 'session.final-response'];
      expect(
        events.filter(({ type }) => order.includes(type)).map(({ type, data }) => [type, data.turn]),
      ).toEqual([
        ['run.started', 1],
        ['run.started', 1],
        ['session.final-response', 1],
        ['run.started', 2],
        ['session.final-response', 2],
        ['run.started', 3],
        ['session.final-response', 3],
      ]);
      expect(runsOf(events).map(([, , resumed]) => resumed)).toEqual([false, true, false, false]);
      expect(textsOf(id)).toEqual(['first', 'answer to: second', 'answer to: third']);
      expect(requestsOf('c8')).toHaveLength(4);
      expect(timesRun('c8')).toBe(1);
    },
  );

  together.it('C9 a resumed webhook run finishes the work and gets no turn to ask back', async (until) => {
    /** Like a real model: it asks back when a user message arrives, or when nothing says that work is unfinished. */
    const goesOn = (request: ModelRequest) => {
      const note = systemOf(request).slice(systemOf(requestsOf('c9')[0]).length);
      const told = /interrupted/i.test(note) && /finish/i.test(note);
      const next = request.body.messages.at(-1)?.role === 'tool';
      return told && next
        ? say(`finished: ${JSON.parse(request.results[0] ?? '').output}`)
        : say('What next?');
    };
    await until('all is ready for the outage');
    const id = await post('c9', [command('c9', 'echo the result'), never, goesOn]);
    await asked('c9', 2);
    await until('all is back');
    await ended(id);
    expect(textsOf(id).map((text) => text.trim())).toEqual(['finished: the result']);
    expect(conversationOf(requestsOf('c9')[2])).toEqual(conversationOf(requestsOf('c9')[1]));
    const { messages } = await stack.adminGet<{ messages: { role: string; content: string }[] }>(
      `/v1/sessions/${id}/transcript`,
    );
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(timesRun('c9')).toBe(1);
  });

  together.it(
    'C10 the model kills a process that it asked to be notified of: no turn, no text',
    async (until) => {
      await until('all is ready for the outage');
      const notify = { notify_on_complete: true };
      const running = await post('c10-running', [
        callTools(inBackground('sleep 600', notify)),
        killIt,
        say('killed it'),
      ]);
      // It has ended by itself, and its notice is already queued.
      const exited = await post('c10-exited', [
        callTools(inBackground('exit 3', notify)),
        command('c10', untilOpen('c10')),
        killIt,
        say('it was over'),
      ]);
      await has(exited, 'turn.requested', 2);
      open('c10');
      const tasks = { 'c10-running': running, 'c10-exited': exited };
      for (const id of Object.values(tasks)) {
        // The kill does not wait long for the exit: on a busy machine the session ends before it is recorded.
        await has(id, 'process.exited', 1);
        const events = await ended(id);
        expect(runsOf(events)).toEqual([[1, 1, false]]);
        expect(eventsOf(events, 'process.exited')).toHaveLength(1);
        expect(eventsOf(events, 'process.completion-consumed').map(({ data }) => data.by)).toEqual(['kill']);
        expect(eventsOf(events, 'session.final-response')).toHaveLength(1);
      }
      expect(textsOf(running)).toEqual(['killed it']);
      expect(textsOf(exited)).toEqual(['it was over']);
      const before = await trail(tasks);
      await until('all that is due was hinted');
      expect(await trail(tasks)).toEqual(before);
      expect([requestsOf('c10-running').length, requestsOf('c10-exited').length]).toEqual([3, 4]);
    },
  );

  together.it(
    'C11 a watch match goes to the turn that it belongs to, and to no other; two exits are two notices',
    async () => {
      /** Prints READY and ends, each when the test creates a file. */
      const watched = (task: string) =>
        callTools(
          inBackground([untilOpen(`${task}-go`), 'echo READY now', untilOpen(`${task}-end`)].join('; '), {
            watch_patterns: ['READY'],
          }),
        );
      const busy = (task: string) => command(task, untilOpen(`${task}-busy`));
      const current = await post('c11-current', [watched('c11-current'), busy('c11-current'), say('done')]);
      const superseded = await post('c11-old', [watched('c11-old'), busy('c11-old'), say('done')]);
      const answered = await post('c11-answered', [watched('c11-answered'), say('done')]);
      const twins = await post('c11-twins', [
        callTools(
          inBackground(`${untilOpen('c11-one')}; exit 1`, { notify_on_complete: true }),
          inBackground(`${untilOpen('c11-two')}; exit 2`, { notify_on_complete: true }),
        ),
        say('both run'),
      ]);

      await eventually(() => timesRun('c11-current') === 1 && timesRun('c11-old') === 1);
      await has(twins, 'process.started', 2);

      // It matches while its turn completes, and the match is reported after that.
      const completing = await post('c11-completing', [watched('c11-completing'), say('done', 1_500)]);
      await asked('c11-completing', 2);
      stack.freeze('process-watcher');
      try {
        open('c11-completing-go');
        expect(requestsOf('c11-completing')[1]?.answered).toBe(false);
        await heard(completing);
      } finally {
        stack.thaw('process-watcher');
      }
      await heard(answered);
      open('c11-answered-go');
      await message(superseded, 'never mind');
      open('c11-old-go');
      open('c11-current-go');
      await Promise.all([current, superseded, answered, completing].map((id) => has(id, 'process.matched')));
      for (const task of ['current', 'old']) open(`c11-${task}-busy`);
      for (const task of ['current', 'old', 'answered', 'completing']) open(`c11-${task}-end`);

      expect(noticesIn(await ended(current))).toEqual([expect.stringMatching(MATCHED)]);
      expect(textsOf(current)).toEqual(['done', expect.stringMatching(ANSWERED_MATCH)]);
      expect(noticesIn(await ended(superseded))).toEqual([]);
      expect(textsOf(superseded)).toEqual(['done', 'answer to: never mind']);
      for (const id of [answered, completing]) {
        const events = await ended(id);
        expect(runsOf(events)).toEqual([[1, 1, false]]);
        expect(textsOf(id)).toEqual(['done']);
      }

      await heard(twins);
      open('c11-one');
      await heard(twins, 2);
      open('c11-two');
      expect(noticesIn(await ended(twins))).toHaveLength(2);
      expect(textsOf(twins)).toEqual([
        'both run',
        expect.stringContaining('exited with exit code 1]'),
        expect.stringContaining('exited with exit code 2]'),
      ]);
    },
  );

  together.it(
    'C12 a follow-up that queues or interrupts: one "Still working" timer, and the outer one stays silent',
    async () => {
      const MODEL_MS = 2_200;
      const queued = await post(
        'c12-queued',
        [say('first', MODEL_MS), say('second', MODEL_MS)],
        'says_status',
      );
      const key = { key: 'c12' };
      const cut = await post('c12-cut', [never, say('instead', MODEL_MS)], 'interrupts', key);
      await Promise.all([asked('c12-queued', 1), asked('c12-cut', 1)]);
      await message(queued, 'more');
      await Promise.all([queued, cut].map((id) => has(id, 'session.interim-status')));
      const interrupting = await stack.post({ route: 'interrupts', body: { text: 'stop that', ...key } });
      expect(interrupting.sessionId).toBe(cut);
      for (const id of [queued, cut]) {
        const events = await ended(id);
        expect(eventsOf(events, 'run.started')).toHaveLength(2);
        for (const generation of [1, 2]) expectOneTimer(events, generation);
        const kinds = sink.taken(id).map(({ payload }) => payload.type);
        expect(kinds.filter((type) => type === 'final-response')).toHaveLength(id === queued ? 2 : 1);
        expect(kinds.at(-1)).toBe('final-response');
      }
    },
  );

  together.it(
    'C13 a crash after the answer is stored and before it is sent: it is sent once, and the model is not asked again',
    async (until) => {
      await until('delivery is down');
      const id = await post('c13', [say('stored')]);
      await stack.waitForEnd(id);
      await until('all is down');
      expect(sink.received.filter(({ payload }) => payload.session_id === id)).toEqual([]);
      await until('all is back');
      await ended(id);
      await until('all that is due was hinted again');
      const received = sink.received.filter(({ payload }) => payload.session_id === id);
      expect(received.map(({ payload }) => [payload.text, payload.possible_duplicate])).toEqual([
        ['stored', false],
      ]);
      expect(requestsOf('c13')).toHaveLength(1);
      expect(runsOf(await stack.events(id))).toEqual([[1, 1, false]]);
    },
  );

  together.it(
    'C14 a side-effecting call without a result is not repeated: the model is told that the outcome is unknown',
    async (until) => {
      await until('the second restart');
      const told = (request: ModelRequest) => say(`told: ${request.results.at(-1)}`);
      // Its result is lost with the runner, or with the supervisor that kept it for the watcher.
      const payment = await post('c14-payment', [callTool('mcp__bank__pay', {}), told], 'pays');
      const shell = await post('c14-shell', [command('c14-shell', untilOpen('c14')), told]);
      await eventually(() => bank.payments() === 1 && timesRun('c14-shell') === 1);
      const shellPid = Number(readFileSync(fileOf('c14-shell'), 'utf8'));
      await until('runner and watcher are down');
      for (const pid of [parentOf(shellPid), shellPid]) process.kill(pid, 'SIGKILL');
      await until('the third restart');
      for (const id of [payment, shell]) {
        const events = await ended(id);
        expect(eventsOf(events, 'tool.started')).toHaveLength(1);
        expect(eventsOf(events, 'tool.finished').map(({ data }) => data.outcome)).toEqual(['unknown']);
        expect(textsOf(id)).toEqual([expect.stringMatching(/^told: .*(unknown|not known)/)]);
      }
      expect([bank.payments(), timesRun('c14-shell')]).toEqual([1, 1]);
    },
  );
});

/** What happens to the system while the scenarios run. */
async function story(then: Then<Moment>): Promise<void> {
  // Before that: scenarios without a crash, and those that need old events.
  await then('all is ready for the outage');
  await then('delivery is down', () => crash('delivery'));
  let diedAt = 0;
  await then('the runners are down', async () => {
    await crash(...RUNNERS);
    diedAt = Date.now();
  });
  await then('all is down', () => crash('ingress', 'process-watcher'));
  await then('all is back', async () => {
    // The relay hints all unsettled sessions again.
    await deleteHintStream(stack.natsUrl);
    // The start of other services is not a sign of life of a run.
    const others = start(...OTHERS);
    await passed(diedAt + Math.max(SHORT_FRESHNESS_SECONDS, QUESTION_SECONDS) * 1000);
    await Promise.all([others, start(...RUNNERS)]);
  });
  await then('all that is due was hinted', everythingDueWasHinted);
  await then('the second restart', async () => {
    await crash(...RUNNERS, 'delivery');
    // From here on one runner is enough.
    await start('agent-runner', 'delivery');
  });
  // Not during the outage: this kills the supervisor, and with it the processes of the other scenarios.
  await then('runner and watcher are down', () => crash('agent-runner', 'process-watcher'));
  await then('the third restart', () => start('agent-runner', 'process-watcher'));
  await then('the fourth restart', async () => {
    await crash('agent-runner');
    await start('agent-runner');
  });
  await then('a drain', async () => {
    await stack.restarted('agent-runner', stack.kill('agent-runner', 'SIGTERM'));
  });
  await then('all that is due was hinted again', everythingDueWasHinted);
}

const MATCHED = /^\[Background process proc_\S+ matched "READY"\]\nREADY now$/;
const ANSWERED_MATCH = /^answer to: \[Background process proc_\S+ matched "READY"\]\nREADY now$/;

function noticesIn(events: readonly EventView[]): unknown[] {
  return eventsOf(events, 'turn.requested')
    .filter(({ data }) => data.source === 'process')
    .map(({ data }) => data.input);
}

/** At least one status, no more than one timer sends during this run, and none of another run. */
function expectOneTimer(events: readonly EventView[], generation: number): void {
  const closes = ['session.final-response', 'run.cancelled'];
  const from = events.find(({ type, data }) => type === 'run.started' && data.generation === generation);
  const to = events.find(({ type, version }) => closes.includes(type) && version > (from?.version ?? 0));
  const seconds = (Date.parse(to?.recorded_at ?? '') - Date.parse(from?.recorded_at ?? '')) / 1000;
  const own = eventsOf(events, 'session.interim-status').filter(({ data }) => data.generation === generation);
  expect(own.length).toBeGreaterThan(0);
  expect(own.length).toBeLessThanOrEqual(Math.ceil(seconds / STATUS_SECONDS));
  for (const { version } of own) {
    expect(version).toBeGreaterThan(from?.version ?? Number.POSITIVE_INFINITY);
    expect(version).toBeLessThan(to?.version ?? 0);
  }
}

function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

interface Bank {
  readonly url: string;
  payments(): number;
  stop(): Promise<void>;
}

/** An MCP server (streamable HTTP) with one tool. The tool takes effect at once, but does not answer the first call. */
async function startBank(): Promise<Bank> {
  let payments = 0;
  const server: Server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = (await json(request)) as {
      id?: number;
      method: string;
      params?: { protocolVersion?: string };
    };
    const reply = (result: object) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'initialize') {
      const { protocolVersion } = params ?? {};
      const serverInfo = { name: 'bank', version: '1' };
      return void reply({ protocolVersion, capabilities: { tools: {} }, serverInfo });
    }
    if (method === 'tools/list') {
      return void reply({ tools: [{ name: 'pay', inputSchema: { type: 'object', properties: {} } }] });
    }
    if (method !== 'tools/call') return void reply({});
    payments += 1;
    if (payments > 1) reply({ content: [{ type: 'text', text: 'paid again' }] });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    payments: () => payments,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
