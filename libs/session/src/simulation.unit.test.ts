import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { evolve, fold, type StreamEvent } from './evolve.ts';
import { projectSession } from './project-session.ts';
import { policy, type Roll, SimulatedSystem } from './simulated-system.ts';
import { initialState } from './state.ts';

/** Histories: some seconds. More with `ANGELIA_PROPERTY_RUNS=20000`; a failing one is printed with its seed. */
const RUNS = Number(process.env.ANGELIA_PROPERTY_RUNS ?? 1_000);
const LENGTH = 160;
const PAUSES = [...Array(12).fill(1_000), 5_000, 25_000, 50_000, 130_000, 700_000] as number[];

const roll: fc.Arbitrary<Roll> = fc.noBias(
  fc.record({ what: fc.nat(99), which: fc.nat(999), luck: fc.nat(99), pause: fc.constantFrom(...PAUSES) }),
);
const rolls = fc.noBias(fc.array(roll, { minLength: 20, maxLength: LENGTH, size: 'max' }));

function play(history: readonly Roll[]): SimulatedSystem {
  const system = new SimulatedSystem(2);
  for (const one of history) system.happen(one);
  return system;
}

const ofType = (events: readonly StreamEvent[], type: string) =>
  events.filter((event) => event.type === type);
const data = (event: StreamEvent) => event.data as Record<string, unknown>;

describe('services that crash, freeze and lose their hints', () => {
  const met = new Map<string, number>();

  it('finish everything once, in order, and start nothing that is over', () => {
    fc.assert(
      fc.property(rolls, (history) => {
        const system = play(history);
        expect(system.comeToRest()).toBe(true);
        expect([system.liveRunsTaken, system.staleAppends]).toEqual([0, 0]);
        for (const [code, times] of system.refusals) met.set(code, (met.get(code) ?? 0) + times);
        for (const [session, events] of system.streams) check(system, session, events);
      }),
      { numRuns: RUNS },
    );
  });

  it('did meet what they are made for: stale generations, overtaken claims, claims past their deadline', () => {
    for (const code of ['stale_generation', 'session_ended'])
      expect([code, met.get(code) ?? 0]).not.toEqual([code, 0]);
    expect([...seen.keys()].sort()).toEqual(['told at once', 'told by the call', 'told late']);
  });
});

/** exit-is-kept, no-phantom-turns: an end is told by a call that waited for it or by one notice, never while a call waits. */
function exitIsKept(events: readonly StreamEvent[]): void {
  const told = new Map<unknown, number>();
  let state = initialState();
  for (const event of events) {
    const before = state;
    state = evolve(state, event);
    const notice = data(event).notice as { process_id: string; kind: string } | null | undefined;
    if (event.type === 'turn.requested' && notice?.kind === 'exited') {
      const waits = state.turns.flatMap(({ calls }) => calls.filter(({ status }) => status === 'started'));
      expect(waits.map(({ waitsFor }) => waitsFor)).not.toContain(notice.process_id);
      told.set(notice.process_id, (told.get(notice.process_id) ?? 0) + 1);
      const inTime = events[event.version - 2]?.type === 'process.exited';
      seen.set(inTime ? 'told at once' : 'told late', 1);
    }
    if (event.type === 'process.completion-consumed') seen.set('told by the call', 1);
    // What the session knew when it ended: a process that was still running then tells nobody.
    if (event.type !== 'session.ended' || data(event).outcome === 'cancelled') continue;
    for (const { processId, status, consumed } of before.processes) {
      if (status === 'running') continue;
      expect([processId, consumed || told.get(processId) === 1]).toEqual([processId, true]);
    }
  }
  for (const [id, times] of told) expect([id, times]).toEqual([id, 1]);
}
const seen = new Map<string, number>();

function check(system: SimulatedSystem, session: string, events: readonly StreamEvent[]): void {
  // every-session-ends
  expect(ofType(events, 'session.ended')).toHaveLength(1);
  // single-owner: nothing of a generation after the next one began
  let generation = 0;
  for (const event of events) {
    const own = data(event).generation;
    if (event.type === 'run.started') generation = own as number;
    else if (typeof own === 'number') expect(own).toBe(generation);
  }
  // no-phantom-turns: no run for a turn that has its answer, none after the end, and a bounded number without progress
  const answered = new Set<unknown>();
  let ended = false;
  for (const event of events) {
    if (event.type === 'session.final-response') {
      expect(answered.has(data(event).turn)).toBe(false);
      answered.add(data(event).turn);
    }
    if (event.type === 'session.ended') ended = true;
    if (event.type !== 'run.started') continue;
    expect([ended, answered.has(data(event).turn)]).toEqual([false, false]);
    expect(data(event).attempt as number).toBeLessThanOrEqual(policy.maxAttempts);
  }
  // A question is closed once, and never left open by what supersedes it.
  const closed = events.filter(({ type }) => /^clarification\.(answered|timed-out|superseded)$/.test(type));
  expect(new Set(closed.map((event) => data(event).clarification_id)).size).toBe(closed.length);
  // C14: a call is carried out at most once
  const carriedOut = system.carriedOut.filter((one) => one.session === session).map((one) => one.callId);
  expect(new Set(carriedOut).size).toBe(carriedOut.length);
  exitIsKept(events);
  // in-order-once
  const arrivals = system.arrivals.filter((arrival) => arrival.session === session);
  const firsts: number[] = [];
  for (const { output, possibleDuplicate } of arrivals) {
    if (!firsts.includes(output)) firsts.push(output);
    else expect([output, possibleDuplicate]).toEqual([output, true]);
  }
  expect(firsts).toEqual([...firsts].sort((a, b) => a - b));
  for (const answer of ofType(events, 'session.final-response')) {
    if (data(answer).silent !== true) expect(firsts).toContain(answer.version);
  }
  // views-are-disposable: in whatever portions the events came
  const half = events.length >> 1;
  const inTwo = projectSession(projectSession(null, events.slice(0, half)).state, events.slice(half));
  expect(inTwo.state).toEqual(fold(events));
}
