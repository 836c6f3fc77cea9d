import { eventSchemas, type SessionFact } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { agenda } from './agenda.ts';
import { decide, type SessionCommand } from './decide.ts';
import { deliveryPlan } from './delivery-plan.ts';
import { evolve, fold, type StreamEvent } from './evolve.ts';
import { projectSession } from './project-session.ts';
import { type RecoveryPolicy, type RunLease, recover } from './recover.ts';
import { email, telegram } from './sample-facts.ts';
import { initialState, nothingMoreCanCome, type SessionState, sessionStatus } from './state.ts';
import { START, waitingCall } from './testing.ts';
import { type Message, transcript } from './transcript.ts';

/**
 * Histories as they come about: services that look at the state and act on it, and in between crashes, takeovers,
 * repeated commands, commands of runs that are long gone, users who cancel, answer and write. Every decision goes
 * through `decide` and `evolve` as in production; what holds for all histories is checked on each of them.
 */

/** Histories per property: about 2,500 in all, in a few seconds. More with `ANGELIA_PROPERTY_RUNS=5000`. */
const RUNS = Number(process.env.ANGELIA_PROPERTY_RUNS ?? 150);
const LENGTH = 120;
const policy: RecoveryPolicy = { freshnessSeconds: 600, maxAttempts: 3, maxInterruptionSeconds: 1200 };
/** Long enough for leases, attempts, questions and freshness to run out now and then. */
const PAUSES = [0, ...Array(20).fill(1000), 5000, 10_000, 40_000, 100_000, 700_000] as number[];

/** One thing that happens: what, to which of the candidates, after which pause. */
interface Roll {
  readonly what: number;
  readonly which: number;
  readonly luck: number;
  readonly pause: number;
}

interface Asked {
  readonly command: SessionCommand;
  /** State before, and what was appended. */
  readonly before: SessionState;
  readonly appended: readonly SessionFact[];
  readonly at: number;
}

interface History {
  readonly events: readonly StreamEvent[];
  readonly asked: readonly Asked[];
  readonly now: number;
}

// No bias towards small numbers and short lists: those histories end before anything happens to them.
const roll: fc.Arbitrary<Roll> = fc.noBias(
  fc.record({ what: fc.nat(99), which: fc.nat(999), luck: fc.nat(99), pause: fc.constantFrom(...PAUSES) }),
);

const setting = fc.record({
  fallback: fc.boolean(),
  interim: fc.constantFrom('message' as const, 'edit' as const, 'off' as const),
  deliverOnly: fc.nat(19).map((n) => n === 0),
  window: fc.constantFrom(0, 30_000),
  queue: fc.constantFrom(null, 60_000),
});

const history: fc.Arbitrary<History> = fc
  .tuple(setting, fc.noBias(fc.array(roll, { minLength: 1, maxLength: LENGTH, size: 'max' })))
  .map(([config, rolls]) => play(config, rolls));

/** Runners that die again and again, and now and then get a step done. */
const crashLoop: fc.Arbitrary<History> = fc
  .tuple(setting, fc.noBias(fc.array(roll, { minLength: 1, maxLength: LENGTH, size: 'max' })))
  .map(([config, rolls]) =>
    play(
      config,
      rolls.map((r) => ({ ...r, what: r.what % 20, luck: r.luck % 30, pause: 1000 })),
    ),
  );

/** A call waits for a process: its end comes or does not, and the call is given up or not, in every order. */
const waiting: fc.Arbitrary<History> = fc
  .tuple(setting, fc.noBias(fc.array(roll, { minLength: 1, maxLength: LENGTH, size: 'max' })))
  .map(([config, rolls]) => play({ ...config, deliverOnly: false, window: 0 }, rolls, waitingCall));

type Setting = typeof setting extends fc.Arbitrary<infer T> ? T : never;

function play(
  config: Setting,
  rolls: readonly Roll[],
  /** What happens before the first roll. */
  before: (now: number) => readonly SessionCommand[] = () => [],
): History {
  const events: StreamEvent[] = [];
  const asked: Asked[] = [];
  let state = initialState();
  let now = START;
  let serial = 0;

  const ask = (command: SessionCommand): void => {
    const decision = decide(state, command);
    const appended = decision.ok ? decision.events : [];
    asked.push({ command, before: state, appended, at: now });
    for (const fact of appended) {
      const event = { ...fact, version: state.version + 1, recordedAt: now };
      events.push(event);
      state = evolve(state, event);
    }
  };

  ask({
    type: 'create-session',
    route: 'r',
    event: null,
    deliveryId: 'first',
    title: 't',
    agent: 'a',
    deliver: telegram,
    fallbackTarget: config.fallback ? email : null,
    interim: config.interim,
    deliverOnly: config.deliverOnly,
    startAfter: config.window === 0 ? null : now + config.window,
    queueDeadline: config.queue === null ? null : now + config.queue,
    input: 'input 1',
  });
  for (const command of before(now)) ask(command);
  for (const { what, which, luck, pause } of rolls) {
    now += pause;
    serial += 1;
    for (const command of happens(what, which, luck, state, now, serial, asked)) ask(command);
  }
  return { events, asked, now };
}

/** What one roll makes happen; the weights make most histories get somewhere. */
function happens(
  what: number,
  which: number,
  luck: number,
  state: SessionState,
  now: number,
  serial: number,
  asked: readonly Asked[],
): SessionCommand[] {
  // Mostly what makes sense; sometimes what does not.
  const pick = (candidates: readonly SessionCommand[]): SessionCommand[] => {
    const sensible = candidates.filter((command) => {
      const decision = decide(state, command);
      return decision.ok && decision.events.length > 0;
    });
    const items = luck < 90 ? sensible : candidates;
    const item = items[which % Math.max(1, items.length)];
    return item === undefined ? [] : [item];
  };
  if (what < 16) {
    // Slow is not dead: four times in five the run that is open has its lease.
    const lease = { holder: state.run?.runner ?? '', renewedAt: now, expiresAt: now + 20_000 };
    return runner(state, now, serial, luck < 20 ? null : lease);
  }
  if (what < 46) return pick(steps(state, now, serial, luck));
  if (what < 62) return pick(sender(state, now, luck));
  if (what < 80) return pick(watcher(state, now, serial));
  if (what < 89) return pick(people(state, serial, now, luck));
  if (what < 90) return luck < 30 ? [{ type: 'cancel', by: 'api' }] : [];
  // A process that was frozen, a message that came twice, a request that was repeated.
  const old = asked[which % asked.length]?.command;
  return old === undefined ? [] : [old];
}

/** A runner looks at the session; without a lease the open run is a lost one. */
function runner(state: SessionState, now: number, serial: number, lease: RunLease | null): SessionCommand[] {
  const verdict = recover(state, lease, now, policy);
  switch (verdict.action) {
    case 'resume':
      return [
        {
          type: 'start-run',
          generation: state.generation + 1,
          turn: verdict.turn,
          runner: `runner#${serial}`,
          resumed: verdict.resumed,
          attempt: verdict.attempt,
          takeover: verdict.takeover,
        },
      ];
    case 'expire':
      return [{ type: 'expire', reason: verdict.reason, turn: verdict.turn, generation: state.generation }];
    default:
      return [];
  }
}

/** What the run at work may do next. */
function steps(state: SessionState, now: number, serial: number, luck: number): SessionCommand[] {
  const run = state.run;
  const turn = state.turns[0];
  if (run === null || turn === undefined) return [];
  const { generation } = run;
  const usage = { input_tokens: 3, output_tokens: 2 };
  const respond = (tools: readonly string[]): SessionCommand => ({
    type: 'record-model-response',
    generation,
    step: turn.step + 1,
    model: 'main',
    text: `text ${serial}`,
    toolCalls: tools.map((name, i) => ({ id: `call-${serial}-${i}`, name, arguments: '{}' })),
    finishReason: 'stop',
    usage,
  });
  const calls = turn.calls.flatMap((call): SessionCommand[] => {
    if (call.status === 'done' || call.status === 'waiting') return [];
    const ask: SessionCommand = {
      type: 'request-clarification',
      generation,
      clarificationId: `q-${serial}`,
      callId: call.id,
      question: '?',
      deadline: now + 60_000,
      onTimeout: luck % 2 === 0 ? 'end' : 'continue',
    };
    if (call.tool === 'clarify') return [ask];
    return [
      {
        type: 'start-tool',
        generation,
        callId: call.id,
        tool: call.tool,
        arguments: waitFor(state, call, luck),
      },
      { type: 'finish-tool', generation, callId: call.id, outcome: 'ok', result: `result ${serial}` },
    ];
  });
  const anything: SessionCommand[] = [
    ...calls,
    ...calls,
    ...calls,
    respond(['terminal', 'terminal']),
    respond(['terminal', 'clarify']),
    respond(['terminal']),
    ...(state.processes.length > 0 ? [respond(['process']), respond(['process', 'terminal'])] : []),
    { type: 'start-agent', generation, kind: luck % 2 === 0 ? 'command' : 'http', arguments: '{}' },
  ];
  // One in four: else most sessions would end before anything happened to them.
  if (luck % 4 !== 0) return anything;
  return [
    ...anything,
    respond([]),
    {
      type: 'interim-status',
      generation,
      sequence: run.statuses + 1,
      kind: 'progress',
      text: `status ${serial}`,
    },
    {
      type: 'compress-context',
      generation,
      sequence: (run.compressions ?? 0) + 1,
      throughVersion: Math.max(0, state.version - (luck % 12)),
      summary: `summary ${serial}`,
      input: luck % 3 === 0 ? 'shortened' : null,
      model: 'main',
      usage,
    },
    { type: 'finish-turn', generation, text: luck % 5 === 0 ? '[SILENT]' : `answer ${serial}` },
    { type: 'fail-run', generation, code: 'timeout', message: 'm', text: `failure ${serial}` },
    { type: 'interrupt-run', generation, reason: luck % 8 === 0 ? 'drain' : 'infrastructure' },
  ];
}

/** What a call of `process` is begun with: most wait for a process, of which most run. */
function waitFor({ processes }: SessionState, { tool }: { readonly tool: string }, luck: number): string {
  const running = processes.filter(({ status }) => status === 'running');
  const from = running.length > 0 && luck % 5 !== 0 ? running : processes;
  const process = from[luck % Math.max(1, from.length)];
  return tool === 'process' && process !== undefined
    ? JSON.stringify({ action: 'wait', process_id: process.processId })
    : '{}';
}

function sender(state: SessionState, now: number, luck: number): SessionCommand[] {
  const plan = deliveryPlan(state, now);
  const sending = state.outputs.find((output) => output.status === 'attempting');
  const reports = sending === undefined ? [] : reportsOf(sending, now, luck);
  const revive = state.outputs
    .filter((output) => output.status === 'dead')
    .map((output): SessionCommand => ({ type: 'retry-delivery', output: output.output, by: 'api' }));
  if (plan.action === 'drop') return [{ type: 'drop-delivery', output: plan.output, now }];
  if (plan.action !== 'send') return [...reports, ...revive];
  const { output, attempt } = plan;
  return [
    { type: 'attempt-delivery', output, attempt, sender: 'delivery#1', deadlineSeconds: 30, now },
    ...reports,
    ...revive,
  ];
}

function reportsOf(
  { output, attempts: attempt, via, taken }: SessionState['outputs'][number],
  now: number,
  luck: number,
): SessionCommand[] {
  const retryAt = now + 5000;
  return [
    { type: 'succeed-delivery', output, attempt },
    { type: 'succeed-delivery', output, attempt },
    { type: 'take-chunk', output, attempt, chunk: taken + 1, chunks: taken + 2, deadlineSeconds: 30 },
    {
      type: 'fail-delivery',
      output,
      attempt,
      reason: '503',
      retryAt,
      counts: luck % 3 !== 0,
      unknown: luck % 4 === 0,
    },
    { type: 'give-up-delivery', output, attempt, via, reason: 'gone' },
  ];
}

function watcher(state: SessionState, now: number, serial: number): SessionCommand[] {
  const calls = (state.turns[0]?.calls ?? []).filter((call) => call.status === 'started');
  const processes = state.processes.filter((process) => process.status === 'running');
  return [
    ...calls.flatMap((call): SessionCommand[] => [
      { type: 'finish-tool', generation: null, callId: call.id, outcome: 'ok', result: `watched ${serial}` },
      {
        type: 'process-started',
        processId: `proc_${serial}`,
        callId: call.id,
        command: 'x',
        host: 'h',
        bootId: 'b',
        pid: serial,
        pidStartTime: '1',
        cwd: '/',
        notifyOnComplete: serial % 3 !== 0,
        watchPatterns: serial % 2 === 0 ? ['x'] : [],
        waitDeadline: now + 200_000,
      },
    ]),
    ...processes.flatMap((process): SessionCommand[] => [
      {
        type: 'process-exited',
        processId: process.processId,
        exitCode: 0,
        signal: null,
        durationSeconds: 1,
        outputTail: '',
      },
      {
        type: 'process-matched',
        processId: process.processId,
        match: process.matches + 1,
        pattern: 'x',
        line: 'x',
        overload: serial % 7 === 0,
      },
      { type: 'process-lost', processId: process.processId, reason: 'gone' },
      { type: 'request-kill', processId: process.processId, by: 'api' },
    ]),
    ...state.processes.map(
      (process): SessionCommand => ({ type: 'consume-completion', processId: process.processId, by: 'kill' }),
    ),
  ];
}

function people(state: SessionState, serial: number, now: number, luck: number): SessionCommand[] {
  const deliveryId = `d-${serial}`;
  return [
    {
      type: 'request-turn',
      source: 'message',
      input: `message ${serial}`,
      deliveryId,
      supersede: luck % 2 === 0,
    },
    { type: 'request-turn', source: 'webhook', input: `webhook ${serial}`, deliveryId, interrupt: luck < 20 },
    { type: 'coalesce-webhook', deliveryId, input: `newer ${serial}`, startAfter: now + 30_000 },
    ...(state.clarification === null
      ? []
      : [
          {
            type: 'answer-clarification' as const,
            clarificationId: state.clarification.id,
            answer: 'yes',
            by: 'api' as const,
          },
        ]),
  ];
}

function holds(check: (history: History) => void, histories = history): void {
  fc.assert(fc.property(histories, check), { numRuns: RUNS });
}

const typesOf = (events: readonly { type: string }[]): string[] => events.map((event) => event.type);
const finals = (events: readonly StreamEvent[]): StreamEvent[] =>
  events.filter((event) => event.type === 'session.final-response');

describe('for every history', () => {
  it('what decide returns is valid by its schema, and complete', () => {
    holds(({ events }) => {
      for (const event of events) {
        const schema = eventSchemas[event.type as SessionFact['type']];
        expect(schema.parse(event.data)).toEqual(event.data);
      }
    });
  });

  it('any prefix folds, and incrementally through stored JSON gives what folding from scratch gives', () => {
    holds(({ events }) => {
      let state = initialState();
      for (const [i, event] of events.entries()) {
        state = evolve(JSON.parse(JSON.stringify(state)) as SessionState, event);
        if (i % 7 === 0 || i === events.length - 1) expect(state).toEqual(fold(events.slice(0, i + 1)));
      }
      expect(projectSession(null, events).state).toEqual(state);
    });
  });

  it('folding changes no state that somebody holds', () => {
    holds(({ events, asked }) => {
      for (const [i, { before }] of asked.entries()) {
        if (i % 5 === 0) expect(fold(events.slice(0, before.version))).toEqual(before);
      }
    });
  });

  it('repeating a command at once changes nothing', () => {
    holds(({ asked, events }) => {
      for (const { command, before, appended } of asked) {
        if (appended.length === 0) continue;
        const after = fold(events.slice(0, before.version + appended.length));
        const again = decide(after, command);
        expect(again.ok ? again.events : []).toEqual([]);
      }
    });
  });

  it('a command that comes again later starts, says and ends nothing a second time', () => {
    holds(({ asked, events, now }) => {
      const state = fold(events);
      for (const { command, appended } of asked) {
        // A person may ask for a further retry, or cancel later what was not cancelled then.
        if (appended.length === 0 || command.type === 'retry-delivery' || command.type === 'cancel') continue;
        const again = decide(state, 'now' in command ? { ...command, now } : command);
        expect(again.ok ? typesOf(again.events) : []).toEqual([]);
      }
    });
  });

  it('every-session-ends: exactly one end at most, and nothing starts after it', () => {
    holds(({ events }) => {
      const types = typesOf(events);
      const end = types.indexOf('session.ended');
      if (end < 0) return;
      expect(types.lastIndexOf('session.ended')).toBe(end);
      for (const type of types.slice(end + 1)) expect(type).toMatch(/^(delivery|process)\./);
    });
  });

  it('every-session-ends: what is not ended has something that it waits for', () => {
    holds(({ events, asked }) => {
      for (const { before } of asked) expect(nothingMoreCanCome(before)).toBe(false);
      expect(nothingMoreCanCome(fold(events))).toBe(false);
    });
  });

  it('every-session-ends: left alone it always ends, and its deliveries settle', () => {
    holds(({ events, now: then }) => {
      let state = fold(events);
      let now = then;
      const append = (facts: readonly SessionFact[]): void => {
        for (const fact of facts) {
          state = evolve(state, { ...fact, version: state.version + 1, recordedAt: now });
        }
      };
      for (let i = 0; i < 200 && !agenda(state).settled; i += 1) {
        const due = agenda(state);
        // Nobody is at work any more: only time passes, and what is due is looked at.
        now = Math.max(now, Math.min(due.run ?? Infinity, due.delivery ?? Infinity, now + 700_000));
        const verdict = recover(state, null, now, policy);
        if (verdict.action === 'resume' || verdict.action === 'expire') {
          for (const command of runner(state, now, i, null)) {
            const decision = decide(state, command);
            expect(decision.ok).toBe(true);
            if (decision.ok) append(decision.events);
          }
        }
        const plan = deliveryPlan(state, now);
        if (plan.action === 'send' || plan.action === 'drop') {
          for (const command of sender(state, now, 0).slice(0, 1)) {
            const decision = decide(state, command);
            expect(decision.ok).toBe(true);
            if (decision.ok) append(decision.events);
          }
          const sending = state.outputs.find((output) => output.status === 'attempting');
          if (sending !== undefined) {
            const decision = decide(state, {
              type: 'succeed-delivery',
              output: sending.output,
              attempt: sending.attempts,
            });
            if (decision.ok) append(decision.events);
          }
        }
        for (const process of state.ended ? state.processes : []) {
          const decision = decide(state, { type: 'process-lost', processId: process.processId, reason: 'x' });
          if (decision.ok) append(decision.events);
        }
      }
      expect(sessionStatus(state)).toBe('ended');
      expect(agenda(state)).toMatchObject({ run: null, delivery: null, settled: true });
    });
  });

  it('single-owner: an older generation can append nothing', () => {
    holds(({ asked }) => {
      for (const { command, before, appended } of asked) {
        if (!('generation' in command) || command.generation === null) continue;
        if (command.generation < before.generation) expect(appended).toEqual([]);
      }
    });
  });

  it('single-owner: generations rise by one, and facts of a run carry the one that is open', () => {
    holds(({ events }) => {
      let generation = 0;
      for (const event of events) {
        const data = event.data as { generation?: number | null };
        if (event.type === 'run.started') expect(data.generation).toBe(++generation);
        else if (typeof data.generation === 'number' && event.type !== 'process.started') {
          expect(data.generation).toBe(generation);
        }
      }
    });
  });

  it('a turn is answered once, and in the order of turns', () => {
    holds(({ events }) => {
      const turns = finals(events).map((event) => (event.data as { turn: number }).turn);
      expect(turns).toEqual([...new Set(turns)].sort((a, b) => a - b));
    });
  });

  it('no-phantom-turns: recover never resumes an answered, cancelled or withdrawn turn, or past an open question', () => {
    holds(({ events, now }) => {
      const over = new Set<number>();
      const notices = new Map<number, string>();
      let asking = false;
      let state = initialState();
      for (const event of events) {
        state = evolve(state, event);
        const fact = event as unknown as SessionFact;
        if (fact.type === 'session.final-response') over.add(fact.data.turn);
        if (fact.type === 'run.cancelled' && fact.data.turn !== null) over.add(fact.data.turn);
        if (fact.type === 'turn.requested' && fact.data.notice)
          notices.set(fact.data.turn, fact.data.notice.process_id);
        if (fact.type === 'run.started') notices.delete(fact.data.turn);
        if (fact.type === 'process.completion-consumed') {
          for (const [turn, id] of notices) if (id === fact.data.process_id) over.add(turn);
        }
        asking = fact.type === 'clarification.requested' || (asking && state.clarification !== null);
        for (const at of [event.recordedAt, now, now + 3_600_000]) {
          const verdict = recover(state, null, at, policy);
          if (verdict.action !== 'resume') continue;
          expect(asking).toBe(false);
          expect(over.has(verdict.turn)).toBe(false);
          expect(state.ended).toBeNull();
        }
      }
    });
  });

  it('a question is closed once at most, and a message that supersedes it waits for no deadline', () => {
    holds(({ events, asked }) => {
      const closed = events.filter(({ type }) =>
        /^clarification\.(answered|timed-out|superseded)$/.test(type),
      );
      const ids = closed.map(({ data }) => (data as { clarification_id: string }).clarification_id);
      expect(ids).toEqual([...new Set(ids)]);
      for (const { command, before, appended } of asked) {
        if (command.type !== 'request-turn' || !command.supersede || appended.length === 0) continue;
        expect(appended.some(({ type }) => type === 'clarification.superseded')).toBe(
          before.clarification !== null,
        );
        expect(fold(events.slice(0, before.version + appended.length)).clarification).toBeNull();
      }
    });
  });

  it('in-order-once: outputs are begun in log order, a status never after the final response of its turn', () => {
    holds(({ events }) => {
      const outputs = new Map<number, { type: string; turn: number }>();
      const revived = new Set<number>();
      const begunFinals = new Set<number>();
      let last = 0;
      for (const event of events) {
        const data = event.data as { output: number; turn: number; attempt: number };
        if (/interim-status|final-response|clarification.requested/.test(event.type)) {
          outputs.set(event.version, { type: event.type, turn: data.turn });
        }
        if (event.type === 'delivery.retry-requested') revived.add(data.output);
        if (event.type !== 'delivery.attempted') continue;
        const output = outputs.get(data.output);
        if (output === undefined) throw new Error(`no output ${data.output}`);
        if (!revived.has(data.output)) expect(data.output).toBeGreaterThanOrEqual(last);
        last = Math.max(last, data.output);
        if (output.type === 'session.final-response') begunFinals.add(output.turn);
        if (output.type === 'session.interim-status') expect(begunFinals.has(output.turn)).toBe(false);
      }
    });
  });

  it('in-order-once: nothing is sent a second time unmarked, unless the attempt before failed for certain', () => {
    holds(({ events }) => {
      const open = new Map<number, boolean>();
      const settled = new Set<number>();
      for (const event of events) {
        const data = event.data as { output: number; possible_duplicate: boolean };
        if (event.type === 'delivery.attempted') {
          expect(settled.has(data.output)).toBe(false);
          if (open.get(data.output)) expect(data.possible_duplicate).toBe(true);
          open.set(data.output, true);
        }
        if (/delivery.(failed|dead|chunk-taken)/.test(event.type)) open.set(data.output, false);
        if (/delivery.(succeeded|dropped)/.test(event.type)) settled.add(data.output);
      }
    });
  });

  it('in-order-once: once an outcome was unknown, whatever follows there is marked, until more of it was taken', () => {
    holds(({ events }) => {
      /** By output and target. */
      const sending = new Set<string>();
      const unknown = new Set<string>();
      const vias = new Map<number, string>();
      for (const event of events) {
        const data = event.data as {
          output: number;
          via: string;
          unknown: boolean;
          possible_duplicate: boolean;
        };
        const name = `${data.output} ${data.via ?? vias.get(data.output)}`;
        if (event.type === 'delivery.attempted') {
          vias.set(data.output, data.via);
          if (sending.has(name)) unknown.add(name);
          if (unknown.has(name)) expect(data.possible_duplicate).toBe(true);
          sending.add(name);
        }
        if (event.type === 'delivery.failed' && data.unknown) unknown.add(name);
        // The claim goes on with the next chunk.
        if (event.type === 'delivery.chunk-taken') unknown.delete(name);
        else if (/delivery.(failed|dead|succeeded|dropped)/.test(event.type)) sending.delete(name);
      }
    });
  });

  it('C7: runs without progress stay under the cap, interrupted ones not counted', () => {
    holds(({ events }) => {
      const attempts = new Map<number, number>();
      for (const event of events) {
        const { turn } = event.data as { turn: number };
        const count = attempts.get(turn) ?? 0;
        if (event.type === 'run.started') {
          expect(count).toBeLessThan(policy.maxAttempts);
          attempts.set(turn, count + 1);
        }
        if (event.type === 'run.interrupted') attempts.set(turn, Math.max(0, count - 1));
        if (/model.responded|tool.finished|context.compressed/.test(event.type)) attempts.set(turn, 0);
        if (event.type.startsWith('clarification.')) attempts.clear();
      }
    }, crashLoop);
  });

  it('two senders never hold the same output at the same time', () => {
    holds(({ events }) => {
      const until = new Map<number, number>();
      for (const event of events) {
        const data = event.data as { output: number; deadline_seconds: number };
        if (event.type === 'delivery.attempted') {
          expect(event.recordedAt).toBeGreaterThanOrEqual(Math.max(0, ...until.values()));
          until.set(data.output, event.recordedAt + data.deadline_seconds * 1000);
        } else if (event.type === 'delivery.chunk-taken') {
          until.set(data.output, event.recordedAt + data.deadline_seconds * 1000);
        } else if (event.type.startsWith('delivery.')) until.delete(data.output);
      }
    });
  });

  it('the transcript alternates, and every answer is in it exactly once', () => {
    holds(({ events }) => {
      for (const upTo of [events.length, Math.floor(events.length / 2), Math.floor(events.length / 3)]) {
        const seen = events.slice(0, upTo);
        const rows = transcript(seen);
        expectAlternation(rows);
        const answers = rows.filter((row) => row.outcome !== undefined && row.outcome !== 'cancelled');
        // What was compressed is told by its summary; of the rest every answer is there.
        const from = compressedIn(seen);
        expect(answers.map((row) => row.content)).toEqual(
          finals(seen)
            .map((event) => event.data as { text: string; turn: number })
            .filter(({ turn }) => turn >= from)
            .map(({ text }) => text),
        );
      }
    });
  });

  it('exit-is-kept: one notice for the end of a process, or none where it was consumed, unwanted or too late', () => {
    holds(({ events }) => {
      const notices = events.filter((event) => {
        const data = event.data as { notice?: { kind: string } | null };
        return event.type === 'turn.requested' && /exited|lost/.test(data.notice?.kind ?? '');
      });
      const ids = notices.map(
        (event) => (event.data as { notice: { process_id: string } }).notice.process_id,
      );
      const ends = events.filter((event) => /process\.(exited|lost)/.test(event.type));
      for (const end of ends) {
        const id = (end.data as { process_id: string }).process_id;
        const before = fold(events.slice(0, end.version - 1));
        const process = before.processes.find((p) => p.processId === id);
        const wanted =
          process?.notify === true && !process.consumed && before.ended === null && !isWaitedFor(before, id);
        const next = events[end.version];
        const told =
          next?.type === 'turn.requested' && (next.data as { source: string }).source === 'process';
        expect(told && next.recordedAt === end.recordedAt).toBe(wanted);
        expect(ids.filter((other) => other === id).length).toBeLessThanOrEqual(1);
      }
    });
  });

  it('exit-is-kept: an end that a call waits for is no notice, and is one as soon as the call closes without having told it', () => {
    let deferred = 0;
    holds(({ events, asked }) => {
      const told = new Map<string, number>();
      let state = initialState();
      let folded = 0;
      for (const { appended } of asked) {
        for (const event of events.slice(folded, folded + appended.length)) {
          state = evolve(state, event);
          const { notice } = event.data as { notice?: { kind: string; process_id: string } | null };
          if (event.type !== 'turn.requested' || !/exited|lost/.test(notice?.kind ?? '')) continue;
          const id = notice?.process_id ?? '';
          expect([id, isWaitedFor(state, id)]).toEqual([id, false]);
          told.set(id, (told.get(id) ?? 0) + 1);
          if (!/process\.(exited|lost)/.test(events[event.version - 2]?.type ?? '')) deferred += 1;
        }
        folded += appended.length;
        if (state.ended !== null) continue;
        for (const { processId, status, notify, consumed } of state.processes) {
          if (status === 'running' || !notify || consumed || isWaitedFor(state, processId)) continue;
          expect([processId, told.get(processId)]).toEqual([processId, 1]);
        }
      }
    }, waiting);
    // Calls that waited for an end, and were given up after it.
    expect(deferred).toBeGreaterThan(0);
  });

  it('bounded: what is over leaves the state', () => {
    holds(({ events }) => {
      const state = fold(events);
      const answered = new Set(finals(events).map((event) => (event.data as { turn: number }).turn));
      for (const turn of state.turns) expect(answered.has(turn.turn)).toBe(false);
      if (state.ended !== null) expect(state).toMatchObject({ turns: [], run: null, clarification: null });
    });
  });
});

it('the histories get around: every event type comes up', () => {
  const seen = new Set<string>();
  for (const { events } of fc.sample(history, { numRuns: 600, seed: 7 }))
    for (const e of events) seen.add(e.type);
  expect([...seen].sort()).toEqual(Object.keys(eventSchemas).sort());
});

function isWaitedFor({ turns }: SessionState, processId: string): boolean {
  return turns.some(({ calls }) =>
    calls.some((call) => call.status === 'started' && call.waitsFor === processId),
  );
}

/** The turn with which the conversation begins for the model: the one in which it was compressed last. */
function compressedIn(events: readonly StreamEvent[]): number {
  const last = events.findLast((event) => event.type === 'context.compressed');
  return last === undefined ? 1 : (last.data as { turn: number }).turn;
}

function expectAlternation(rows: readonly Message[]): void {
  let before: Message | undefined;
  for (const row of rows) {
    if (row.role === 'user') expect(before === undefined || before.role === 'assistant').toBe(true);
    if (row.role === 'assistant') expect(before?.role === 'user' || before?.role === 'tool').toBe(true);
    if (row.role === 'tool') expect(before?.tool_calls !== undefined || before?.role === 'tool').toBe(true);
    before = row;
  }
}
