import { isDeepStrictEqual } from 'node:util';
import { eventSchemas, type SessionFact } from '@angelia/contracts';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { digestOfArguments } from '../src/approvals/arguments-digest.ts';
import { ruleFor } from '../src/approvals/tool-policy.ts';
import { decide, type SessionCommand } from '../src/decide.ts';
import { deliveryPlan } from '../src/deliveries/delivery-plan.ts';
import { updatePlan } from '../src/deliveries/update-plan.ts';
import { evolve } from '../src/evolve.ts';
import { agenda } from '../src/recovery/agenda.ts';
import { recover } from '../src/recovery/recover.ts';
import {
  initialState,
  nothingMoreCanCome,
  openApproval,
  type SessionState,
  type StreamEvent,
  sessionStatus,
} from '../src/state.ts';
import { isAgentTool } from '../src/steps/agent-calls.ts';
import { type Message, transcript } from '../src/transcript/transcript.ts';
import { REMEMBERED_IDS } from '../src/turns/evolve-turns.ts';
import { projectSession } from '../src/views/project-session.ts';
import {
  type Happening,
  type History,
  policy,
  type Roll,
  retry,
  type Setting,
  SimulatedSystem,
  toolPolicy,
} from './simulated-system.ts';

/**
 * Invariants of all histories, checked on random histories of the simulated system. Each history is played once, stopped
 * somewhere and brought to rest, and then every invariant is checked. Takes some seconds; longer with
 * `ANGELIA_PROPERTY_RUNS=20000`.
 */
const RUNS = Number(process.env.ANGELIA_PROPERTY_RUNS ?? 400);
/** Different each time. A failing history is shrunk and printed with its seed: repeat it with `ANGELIA_PROPERTY_SEED=...`. */
const SEED = Number(process.env.ANGELIA_PROPERTY_SEED ?? Date.now() % 2 ** 31);

/** Long enough that leases, attempts, questions, windows and freshness expire now and then. */
const PAUSES = [...Array(12).fill(1_000), 5_000, 25_000, 50_000, 130_000, 700_000, 1_300_000] as number[];
const USUAL: Readonly<Record<Happening, number>> = {
  hint: 16,
  work: 48,
  watch: 12,
  pass: 8,
  sweep: 6,
  crash: 3,
  freeze: 2,
  'bus is emptied': 1,
  model: 1,
  person: 14,
  again: 6,
};
/** A model that is down most of the time, and time that passes. */
const OUTAGES: Readonly<Record<string, number>> = { ...USUAL, model: 6, pass: 24, sweep: 16, again: 2 };
/** Runners that die again and again and only sometimes finish a step. */
const CRASHES: Readonly<Record<string, number>> = { hint: 40, work: 6, pass: 8, sweep: 16, crash: 30 };

/** Plain objects, so that they are printed as such. */
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(model, { noNullPrototype: true });

const setting: fc.Arbitrary<Setting> = record({
  fallback: fc.boolean(),
  interim: fc.constantFrom('message' as const, 'edit' as const, 'off' as const),
  deliverOnly: fc.nat(19).map((n) => n === 0),
  startAfterMs: fc.constantFrom(null, null, 30_000),
  queueMs: fc.constantFrom(null, null, 60_000),
  leftWaiting: fc.nat(3).map((n) => n === 0),
  policy: fc.boolean(),
});

// No bias towards small numbers and short lists: such histories end before anything happens.
const rollsOf = (weights: Readonly<Record<string, number>>, pauses: readonly number[]) => {
  const what = fc.constantFrom(
    ...Object.entries(weights).flatMap(([name, weight]) => Array<Happening>(weight).fill(name as Happening)),
  );
  const roll: fc.Arbitrary<Roll> = record({
    what,
    which: fc.nat(999),
    luck: fc.nat(99),
    pause: fc.constantFrom(...pauses),
  });
  return fc.noBias(fc.array(roll, { minLength: 20, maxLength: 400, size: 'max' }));
};
const plays = fc.noBias(
  record({
    settings: fc.tuple(setting, setting),
    rolls: fc.oneof(
      { weight: 4, arbitrary: rollsOf(USUAL, PAUSES) },
      { weight: 1, arbitrary: rollsOf(CRASHES, [1_000]) },
      { weight: 1, arbitrary: rollsOf(OUTAGES, [1_000, 5_000, 30_000, 130_000]) },
    ),
  }),
);

interface Played {
  readonly system: SimulatedSystem;
  /** Whether nothing was left to do at the end. */
  readonly rested: boolean;
  /** The histories right after the last roll. */
  readonly stopped: readonly History[];
  /** The same histories at rest. */
  readonly histories: readonly History[];
}

function play({ settings, rolls }: { settings: readonly Setting[]; rolls: readonly Roll[] }): Played {
  const system = new SimulatedSystem(settings);
  for (const roll of rolls) system.happen(roll);
  const stopped = system.histories();
  const rested = system.comeToRest();
  return { system, rested, stopped, histories: system.histories() };
}

/** Like `expect(actual).toEqual(expected)`, but much cheaper if they are equal, as they mostly are. */
function same(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

const data = (event: { readonly data: unknown }) => event.data as Record<string, unknown>;
const ofType = (events: readonly StreamEvent[], type: string) =>
  events.filter((event) => event.type === type);
const inEach =
  (check: (history: History) => void) =>
  ({ histories }: Played): void =>
    histories.forEach(check);
const inEachStopped =
  (check: (history: History) => void) =>
  ({ stopped }: Played): void =>
    stopped.forEach(check);

/** What occurred in the histories. Shows that they are not trivial. */
const covered = new Set<string>();

const INVARIANTS: Readonly<Record<string, (played: Played) => void>> = {
  'what decide returns is valid by its schema, and complete': inEach(({ events }) => {
    for (const event of events) {
      covered.add(event.type);
      same(eventSchemas[event.type as SessionFact['type']].parse(event.data), event.data);
    }
  }),

  'any prefix folds, also through stored JSON, and the projection is the same for any batches': inEach(
    ({ events, state: last }) => {
      let [state, stored] = [initialState(), initialState()];
      for (const [i, event] of events.entries()) {
        state = evolve(state, event);
        if (i % 4 === 0) stored = JSON.parse(JSON.stringify(stored)) as SessionState;
        stored = evolve(stored, event);
        if (i % 24 === 0) same(stored, state);
      }
      same(stored, last);
      same(state, last);
      const half = events.length >> 1;
      const before = projectSession(null, events.slice(0, half)).state;
      same(projectSession(before, events.slice(half)).state, last);
      same(projectSession(null, events).state, last);
    },
  ),

  'folding does not change an earlier state': inEach(({ events, decided }) => {
    let state = initialState();
    for (const [i, { before, after }] of decided.entries()) {
      if (i % 5 === 0) same(state, before);
      for (const event of events.slice(before.version, after.version)) state = evolve(state, event);
    }
  }),

  'repeating a command at once changes nothing': inEach(({ decided }) => {
    for (const { command, appended, after } of decided) {
      if (appended.length === 0) continue;
      const again = decide(after, command);
      same(again.ok ? again.events : [], []);
    }
  }),

  'a command that is repeated later starts, says and ends nothing a second time': inEachStopped(
    ({ decided, state, now }) => {
      const withId = decided.filter(
        ({ command, appended }) => 'deliveryId' in command && appended.length > 0,
      );
      const forgotten = new Set(withId.slice(0, -REMEMBERED_IDS));
      for (const one of decided) {
        const { command, appended } = one;
        // A person may ask for another retry, or cancel later.
        if (appended.length === 0 || command.type === 'retry-delivery' || command.type === 'cancel') continue;
        if (forgotten.has(one)) continue;
        const again = decide(state, 'now' in command ? { ...command, now } : command);
        same(again.ok ? again.events : [], []);
      }
    },
  ),

  'every-session-ends: exactly once, and nothing starts afterwards': ({ rested, histories }) => {
    same(rested, true);
    for (const { events } of histories) {
      const types = events.map(({ type }) => type);
      const end = types.indexOf('session.ended');
      same(end >= 0 && types.lastIndexOf('session.ended') === end, true);
      same(
        types.slice(end + 1).filter((type) => !/^(delivery|process)\./.test(type)),
        [],
      );
    }
  },

  'every-session-ends: a session that has not ended waits for something': inEach(({ decided }) => {
    for (const { after } of decided) same(nothingMoreCanCome(after), false);
  }),

  'every-session-ends: a session that is left alone ends, and its deliveries settle':
    inEachStopped(checkEndsWhenLeftAlone),

  'single-owner: nobody takes over from a live lease, and an older generation can append nothing': ({
    system,
    histories,
  }) => {
    same(system.liveRunsTaken, 0);
    for (const { command, before, appended } of histories.flatMap(({ decided }) => decided)) {
      if (!('generation' in command) || command.generation === null) continue;
      if (command.generation < before.generation) same(appended, []);
    }
  },

  'single-owner: generations rise by one, and the facts of a run carry the open one': inEach(({ events }) => {
    let generation = 0;
    for (const event of events) {
      const own = data(event).generation;
      if (event.type === 'run.started') same(own, ++generation);
      // A process belongs to the run that started its call.
      else if (typeof own === 'number' && event.type !== 'process.started') same(own, generation);
    }
  }),

  'turns are answered once and in order, and no run starts for an answered turn': inEach(({ events }) => {
    let answered = 0;
    for (const event of events) {
      const turn = data(event).turn as number;
      if (event.type === 'run.started') same(turn > answered, true);
      if (event.type !== 'session.final-response') continue;
      same(turn > answered, true);
      answered = turn;
    }
  }),

  'no-phantom-turns: recover never resumes an answered, cancelled or withdrawn turn, or past an open question':
    inEach(checkNothingOverIsResumed),

  'no-phantom-turns: a call is carried out at most once (C14)': ({ system }) => {
    const calls = system.carriedOut.map(({ session, callId }) => `${session} ${callId}`);
    same(new Set(calls).size, calls.length);
  },

  'no-phantom-turns: runs without progress stay below the cap, without interrupted and put-off ones (C7)':
    inEach(({ events }) => {
      const attempts = new Map<number, number>();
      for (const event of events) {
        const { turn } = event.data as { turn: number };
        const count = attempts.get(turn) ?? 0;
        if (event.type === 'run.started') {
          same(count < policy.maxAttempts, true);
          attempts.set(turn, count + 1);
        }
        if (/run.(interrupted|put-off)/.test(event.type)) attempts.set(turn, Math.max(0, count - 1));
        if (/model.responded|tool.finished|context.compressed/.test(event.type)) attempts.set(turn, 0);
        if (/^(clarification|approval)\./.test(event.type)) attempts.clear();
        if (event.type === 'run.failed') covered.add(`failed: ${data(event).code}`);
      }
    }),

  'an-outage-is-a-wait: until its retry, at most until the limit, told once, not stale, and not for ever':
    checkOutages,

  'a question is closed at most once, and a message that supersedes it waits for no deadline': inEach(
    ({ events, decided }) => {
      const closed = events.filter(({ type }) =>
        /^clarification\.(answered|timed-out|superseded)$/.test(type),
      );
      same(new Set(closed.map((event) => data(event).clarification_id)).size, closed.length);
      for (const { command, before, after, appended } of decided) {
        if (command.type !== 'request-turn' || !command.supersede || appended.length === 0) continue;
        const superseded = appended.some(({ type }) => type === 'clarification.superseded');
        same([superseded, after.clarification], [before.clarification !== null, null]);
      }
    },
  ),

  'approved-is-what-runs: a call that needs approval starts once, with the approved arguments, or not at all':
    inEach(checkApproved),

  'a request is decided at most once, by who may, in time, and otherwise it expires closed':
    inEach(checkDecisions),

  'in-order-once: outputs are started in log order, a status never after the final response of its turn':
    inEach(checkStartedInOrder),

  'in-order-once: nothing is sent a second time without a mark, unless the previous attempt definitely failed':
    inEach(({ events }) => {
      const open = new Map<number, boolean>();
      const settled = new Set<number>();
      for (const event of events) {
        const { output, possible_duplicate } = event.data as { output: number; possible_duplicate: boolean };
        if (event.type === 'delivery.attempted') {
          same(settled.has(output), false);
          if (open.get(output)) same([output, possible_duplicate], [output, true]);
          open.set(output, true);
        }
        if (/delivery.(failed|dead|chunk-taken)/.test(event.type)) open.set(output, false);
        if (/delivery.(succeeded|dropped)/.test(event.type)) settled.add(output);
      }
    }),

  'in-order-once: after an unknown outcome everything sent there is marked, until another chunk is taken':
    inEach(checkMarkedAfterUnknown),

  'in-order-once: two senders never hold the same output at the same time': inEach(({ events }) => {
    const until = new Map<number, number>();
    for (const event of events) {
      const { output, deadline_seconds } = event.data as { output: number; deadline_seconds: number };
      if (event.type === 'delivery.attempted') {
        same(event.recordedAt >= Math.max(0, ...until.values()), true);
        until.set(output, event.recordedAt + deadline_seconds * 1000);
      } else if (event.type === 'delivery.chunk-taken') {
        until.set(output, event.recordedAt + deadline_seconds * 1000);
      } else if (event.type.startsWith('delivery.')) until.delete(output);
    }
  }),

  'in-order-once: messages arrive in order and once, or marked; every answer arrives or is dead':
    checkArrivals,

  'written-before-sent: the transcript checkRolesAlternate, and every answer is in it exactly once': inEach(
    ({ events }) => {
      for (const upTo of [events.length, Math.floor(events.length / 2), Math.floor(events.length / 3)]) {
        const seen = events.slice(0, upTo);
        const rows = transcript(seen);
        checkRolesAlternate(rows);
        const answers = rows.filter((row) => row.outcome !== undefined && row.outcome !== 'cancelled');
        // The summary replaces what was compressed. Every answer after that is there.
        const last = seen.findLast((event) => event.type === 'context.compressed');
        const from = last === undefined ? 1 : (data(last).turn as number);
        same(
          answers.map((row) => row.content),
          ofType(seen, 'session.final-response')
            .filter((event) => (data(event).turn as number) >= from)
            .map((event) => data(event).text),
        );
      }
    },
  ),

  'exit-is-kept: a requested notice comes once, at once or when the call that waits for the end closes':
    inEach(checkNotices),

  'bounded: what is over leaves the state': ({ stopped, histories }) => {
    for (const { events, state } of [...stopped, ...histories]) {
      const answered = new Set(ofType(events, 'session.final-response').map((event) => data(event).turn));
      for (const { turn } of state.turns) same(answered.has(turn), false);
      if (state.ended === null) continue;
      same([state.turns, state.run, state.clarification, state.approval], [[], null, null, null]);
    }
  },
};

describe('services that crash, freeze and lose their hints, and people who write at any time', () => {
  /** For each invariant, the first history that breaks it. */
  const broken = new Map<string, number>();

  beforeAll(() => {
    for (const [n, one] of fc.sample(plays, { numRuns: RUNS, seed: SEED }).entries()) {
      const played = play(one);
      for (const [name, check] of Object.entries(INVARIANTS)) {
        if (broken.has(name)) continue;
        try {
          check(played);
        } catch {
          broken.set(name, n);
        }
      }
    }
  });

  it.each(Object.entries(INVARIANTS))('%s', (name, check) => {
    const n = broken.get(name);
    if (n === undefined) return;
    // Play it again and shrink it for at most half a minute.
    fc.assert(
      fc.property(plays, (one) => check(play(one))),
      { numRuns: RUNS, seed: SEED, path: String(n), interruptAfterTimeLimit: 30_000 },
    );
    throw new Error(`history ${n} of seed ${SEED} breaks this, but not when played again`);
  });
});

it('the histories cover every event, the main refusals and every way to report the end of a process', () => {
  covered.clear();
  const expected = [
    ...Object.keys(eventSchemas),
    ...['stale_generation', 'session_ended', 'stale_attempt', 'tools_open', 'call_started', 'turn_started'],
    ...['approval_missing', 'approval_closed', 'approval_expired', 'not_an_approver', 'arguments_changed'],
    ...['approved once', 'approved for the session', 'denied', 'never approved'],
    ...['told at once', 'told late', 'told by the call'],
    ...['failed: attempts', 'failed: stale', 'failed: interrupted', 'failed: queue'],
    ...['failed: clarification_timeout', 'duplicate', 'revived', 'dead', 'fallback'],
    ...['put off without a run', 'told of the wait', 'failed at the limit', 'back early', 'retried in time'],
  ];
  const left = () => expected.filter((name) => !covered.has(name));
  for (const one of fc.sample(plays, { numRuns: 400, seed: 7 })) {
    if (left().length === 0) break;
    const played = play(one);
    for (const code of played.system.refusals) covered.add(code);
    for (const check of Object.values(INVARIANTS)) check(played);
  }
  expect(left()).toEqual([]);
});

/** Nobody works any more: time passes, and due work is checked. Every run is lost at once. */
function checkEndsWhenLeftAlone({ state: stopped, now: then }: History): void {
  let state = stopped;
  let now = then;
  const ask = (command: SessionCommand): void => {
    const decision = decide(state, command);
    same(decision.ok, true);
    for (const fact of decision.ok ? decision.events : []) {
      state = evolve(state, { ...fact, version: state.version + 1, recordedAt: now });
    }
  };
  for (let i = 0; i < 200 && !agenda(state).settled; i += 1) {
    const due = agenda(state);
    now = Math.max(now, Math.min(due.run ?? Infinity, due.delivery ?? Infinity, now + 700_000));
    const verdict = recover(state, null, now, policy);
    if (verdict.action === 'resume') {
      const { turn, resumed, attempt, takeover } = verdict;
      const generation = state.generation + 1;
      ask({ type: 'start-run', generation, turn, runner: `r#${i}`, resumed, attempt, takeover });
    } else if (verdict.action === 'expire') {
      const { reason, turn } = verdict;
      ask({ type: 'expire', reason, turn, generation: state.generation });
    }
    const plan = deliveryPlan(state, now);
    if (plan.action === 'drop') ask({ type: 'drop-delivery', output: plan.output, now });
    if (plan.action === 'send') {
      const { output, attempt } = plan;
      ask({ type: 'attempt-delivery', output, attempt, sender: 'd#1', deadlineSeconds: 30, now });
      ask({ type: 'succeed-delivery', output, attempt });
    }
    const update = updatePlan(state, now);
    if (update.action === 'update') {
      ask({ type: 'finish-update', output: update.output, result: 'edited', reason: null });
    }
    for (const { processId } of state.ended ? state.processes : []) {
      ask({ type: 'process-lost', processId, reason: 'x' });
    }
  }
  same(sessionStatus(state), 'ended');
  const { run, delivery, settled } = agenda(state);
  same({ run, delivery, settled }, { run: null, delivery: null, settled: true });
}

function checkNothingOverIsResumed({ events, now }: History): void {
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
    asking =
      /^(clarification|approval)\.requested$/.test(fact.type) ||
      (asking && (state.clarification !== null || openApproval(state) !== null));
    for (const at of [event.recordedAt, now, now + 3_600_000]) {
      const verdict = recover(state, null, at, policy);
      if (verdict.action !== 'resume') continue;
      same([asking, over.has(verdict.turn), state.ended], [false, false, null]);
    }
  }
}

function checkApproved({ events }: History): void {
  const hasPolicy = ofType(events, 'session.created').some((event) => data(event).tools !== undefined);
  const requested = new Map<string, Record<string, unknown>>();
  const approved = new Map<string, Record<string, unknown>>();
  const forSession = new Set<string>();
  const started = new Set<string>();
  for (const event of events) {
    const one = data(event);
    const id = one.approval_id as string;
    if (event.type === 'approval.requested') requested.set(id, one);
    if (event.type === 'approval.decided' && one.decision === 'approve') {
      approved.set(requested.get(id)?.call_id as string, requested.get(id) ?? {});
      if (one.scope === 'session') forSession.add(id);
    }
    if (event.type !== 'tool.started' || !hasPolicy) continue;
    const callId = one.call_id as string;
    same(started.has(callId), false);
    started.add(callId);
    const written = one.arguments as string;
    const own = approved.get(callId);
    if (own !== undefined) same(own.digest, digestOfArguments(written));
    const rule = ruleFor(toolPolicy.policy, one.tool as string, written)?.do ?? 'allow';
    same(rule === 'deny', false);
    if (rule !== 'ask') continue;
    const { approval_id, digest } = one.approval as { approval_id: string; digest: string };
    same(digest, digestOfArguments(written));
    same(own?.approval_id === approval_id || forSession.has(approval_id), true);
    covered.add(forSession.has(approval_id) ? 'approved for the session' : 'approved once');
  }
}

function checkDecisions({ events }: History): void {
  const open = new Map<string, number>();
  const refused = new Set<string>();
  const calls = new Map<string, string>();
  for (const event of events) {
    const { approval_id: id, call_id, decision, actor, way, reason } = data(event) as Record<string, string>;
    if (event.type === 'approval.requested') {
      open.set(id ?? '', Date.parse(data(event).expires_at as string));
      calls.set(id ?? '', call_id ?? '');
    }
    if (event.type === 'tool.started') same(refused.has(call_id ?? ''), false);
    if (!/^approval\.(decided|expired)$/.test(event.type)) continue;
    const expiresAt = open.get(id ?? '') ?? Number.NaN;
    same(open.delete(id ?? ''), true);
    if (event.type === 'approval.decided') {
      same(event.recordedAt < expiresAt, true);
      same(way === 'api' || (way === 'chat' && actor === 'telegram:1'), true);
    } else if (reason === 'time') {
      same(event.recordedAt >= expiresAt, true);
      covered.add('never approved');
    }
    if (decision === 'approve') continue;
    refused.add(calls.get(id ?? '') ?? '');
    if (decision === 'deny') covered.add('denied');
  }
}

/** The wait of one turn for a model, from its first put-off until a model answers. */
interface Wait {
  readonly since: number;
  /** Null: the retry has started. */
  retryAt: number | null;
}

function checkOutages({ system, histories }: Played): void {
  for (const { session, events } of histories) {
    const waits = new Map<number, Wait>();
    const told = new Map<number, number>();
    for (const [i, event] of events.entries()) {
      const fact = event as unknown as SessionFact;
      const { turn } = event.data as { turn: number };
      const wait = waits.get(turn);
      switch (fact.type) {
        case 'run.started':
          if (wait?.retryAt == null) break;
          if (system.early.has(`${session} ${fact.data.generation}`)) covered.add('back early');
          else {
            same(event.recordedAt >= wait.retryAt, true);
            covered.add('retried in time');
          }
          wait.retryAt = null;
          break;
        case 'session.interim-status':
          if (fact.data.kind !== 'waiting') break;
          told.set(turn, (told.get(turn) ?? 0) + 1);
          same(told.get(turn), 1);
          covered.add('told of the wait');
          break;
        case 'run.put-off': {
          const retryAt = Date.parse(fact.data.retry_at);
          const since = wait?.since ?? event.recordedAt;
          same(retryAt > event.recordedAt && retryAt <= since + retry.maxSeconds * 1000, true);
          // A wait of more than a minute is not kept from the user.
          if (retryAt - since > 60_000) same(told.get(turn), 1);
          waits.set(turn, { since, retryAt });
          if (events[i - 1]?.type === 'run.started') covered.add('put off without a run');
          break;
        }
        case 'run.failed':
          if (fact.data.code === 'stale' && wait?.retryAt != null)
            same(event.recordedAt - wait.retryAt > policy.freshnessSeconds * 1000, true);
          if (fact.data.code !== 'models_failed') break;
          same(wait !== undefined && event.recordedAt >= wait.since + retry.maxSeconds * 1000, true);
          covered.add('failed at the limit');
          break;
        case 'model.responded':
        case 'context.compressed':
        case 'session.final-response':
          waits.delete(turn);
          told.delete(turn);
          break;
        case 'tool.finished':
          if (isAgentTool(fact.data.tool)) {
            waits.delete(turn);
            told.delete(turn);
          }
          break;
      }
    }
  }
}

function checkStartedInOrder({ events }: History): void {
  const outputs = new Map<number, { type: string; turn: number }>();
  const revived = new Set<number>();
  const startedFinals = new Set<number>();
  let last = 0;
  for (const event of events) {
    const { output: version, turn } = event.data as { output: number; turn: number };
    if (/interim-status|final-response|clarification.requested|approval.requested/.test(event.type)) {
      outputs.set(event.version, { type: event.type, turn });
    }
    if (event.type === 'delivery.retry-requested') revived.add(version);
    if (event.type !== 'delivery.attempted') continue;
    const output = outputs.get(version);
    if (output === undefined) throw new Error(`no output ${version}`);
    if (!revived.has(version)) same(version >= last, true);
    last = Math.max(last, version);
    if (output.type === 'session.final-response') startedFinals.add(output.turn);
    if (output.type === 'session.interim-status') same(startedFinals.has(output.turn), false);
  }
}

function checkMarkedAfterUnknown({ events }: History): void {
  /** By output and target. */
  const sending = new Set<string>();
  const unknown = new Set<string>();
  const vias = new Map<number, string>();
  for (const event of events) {
    const fact = event.data as { output: number; via: string; unknown: boolean; possible_duplicate: boolean };
    const name = `${fact.output} ${fact.via ?? vias.get(fact.output)}`;
    if (event.type === 'delivery.attempted') {
      vias.set(fact.output, fact.via);
      if (sending.has(name)) unknown.add(name);
      if (unknown.has(name)) same([name, fact.possible_duplicate], [name, true]);
      sending.add(name);
      if (fact.via === 'fallback_target') covered.add('fallback');
    }
    if (event.type === 'delivery.failed' && fact.unknown) unknown.add(name);
    // The claim continues with the next chunk.
    if (event.type === 'delivery.chunk-taken') unknown.delete(name);
    else if (/delivery.(failed|dead|succeeded|dropped)/.test(event.type)) sending.delete(name);
  }
}

function checkArrivals({ system, histories }: Played): void {
  for (const { session, events, state } of histories) {
    const revived = new Set(ofType(events, 'delivery.retry-requested').map((event) => data(event).output));
    const arrived = new Set<string>();
    const firsts: number[] = [];
    for (const arrival of system.arrivals.filter((one) => one.session === session)) {
      const { output, via, part, possibleDuplicate } = arrival;
      const name = `${output} ${via} ${part}`;
      // After a requested retry, an output starts again when it comes back from the fallback: its first message is marked.
      if (arrived.has(name) && (part === 1 || !revived.has(output))) {
        covered.add('duplicate');
        same([name, possibleDuplicate], [name, true]);
      }
      arrived.add(name);
      if (!firsts.includes(output)) firsts.push(output);
    }
    if (revived.size > 0) covered.add('revived');
    const inOrder = firsts.filter((output) => !revived.has(output));
    same(
      inOrder,
      inOrder.toSorted((a, b) => a - b),
    );
    const dead = state.outputs.map(({ output }) => output);
    if (dead.length > 0) covered.add('dead');
    for (const answer of ofType(events, 'session.final-response')) {
      if (data(answer).silent === true) continue;
      same(
        [answer.version, firsts.includes(answer.version) || dead.includes(answer.version)],
        [answer.version, true],
      );
    }
  }
}

function checkNotices({ events, decided }: History): void {
  const told = new Map<string, number>();
  let state = initialState();
  let folded = 0;
  for (const { appended } of decided) {
    for (const event of events.slice(folded, folded + appended.length)) {
      const before = state;
      state = evolve(state, event);
      checkImmediateNotice(event, events, before);
      if (event.type === 'session.ended' && data(event).outcome !== 'cancelled')
        checkAllReported(before, told);
      if (event.type === 'process.completion-consumed' && data(event).by === 'wait')
        covered.add('told by the call');
      const { notice } = event.data as { notice?: { kind: string; process_id: string } | null };
      if (event.type !== 'turn.requested' || !/exited|lost/.test(notice?.kind ?? '')) continue;
      const id = notice?.process_id ?? '';
      same([id, isWaitedFor(state, id)], [id, false]);
      told.set(id, (told.get(id) ?? 0) + 1);
      covered.add(
        /process\.(exited|lost)/.test(events[event.version - 2]?.type ?? '') ? 'told at once' : 'told late',
      );
    }
    folded += appended.length;
    if (state.ended !== null) continue;
    for (const { processId, status, notify, consumed } of state.processes) {
      if (status === 'running' || !notify || consumed || isWaitedFor(state, processId)) continue;
      same([processId, told.get(processId)], [processId, 1]);
    }
  }
  for (const [id, times] of told) same([id, times], [id, 1]);
}

/** At the end of a session. A process that is still running then reports to nobody. */
function checkAllReported({ processes }: SessionState, told: ReadonlyMap<string, number>): void {
  for (const { processId, status, notify, consumed } of processes) {
    if (status === 'running' || !notify) continue;
    same([processId, consumed || told.get(processId) === 1], [processId, true]);
  }
}

/** If no call waits for the end, the notice follows it at once. */
function checkImmediateNotice(end: StreamEvent, events: readonly StreamEvent[], before: SessionState): void {
  if (!/process\.(exited|lost)/.test(end.type)) return;
  const id = data(end).process_id as string;
  const process = before.processes.find(({ processId }) => processId === id);
  const wanted =
    process?.notify === true && !process.consumed && before.ended === null && !isWaitedFor(before, id);
  const next = events[end.version];
  const notice =
    next?.type === 'turn.requested' ? (data(next).notice as { process_id: string } | null) : null;
  same([id, notice?.process_id === id && next?.recordedAt === end.recordedAt], [id, wanted]);
}

function isWaitedFor({ turns }: SessionState, processId: string): boolean {
  return turns.some(({ calls }) =>
    calls.some((call) => call.status === 'started' && call.waitsFor === processId),
  );
}

function checkRolesAlternate(rows: readonly Message[]): void {
  let before: Message | undefined;
  for (const row of rows) {
    if (row.role === 'user') same(before === undefined || before.role === 'assistant', true);
    if (row.role === 'assistant') same(before?.role === 'user' || before?.role === 'tool', true);
    if (row.role === 'tool') same(before?.tool_calls !== undefined || before?.role === 'tool', true);
    before = row;
  }
}
