import type { SessionFact } from '@angelia/contracts';
import { decide, type SessionCommand } from '../src/decide.ts';
import type { Decision, RefusalCode } from '../src/decision.ts';
import { fold } from '../src/evolve.ts';
import type { SessionState, StreamEvent } from '../src/state.ts';

/**
 * Given these facts, when this command comes, then these facts follow:
 *
 *   given([created, turn(1), runStarted(1)]).when({ type: 'finish-turn', ... }).then([answered, ended])
 */

/** Default time of the first event of a history. */
export const START = Date.parse('2026-01-01T00:00:00.000Z');

/** Default time between two events. */
const STEP = 1000;

/** A fact, or a fact with the time at which it was recorded. */
export type GivenFact = SessionFact | { readonly at: number; readonly fact: SessionFact };

export interface Given {
  readonly events: readonly StreamEvent[];
  readonly state: SessionState;
  /** The time of the last event. */
  readonly now: number;
  when(command: SessionCommand): When;
  /** The same history with more facts. */
  and(facts: readonly GivenFact[]): Given;
}

interface When {
  readonly decision: Decision;
  /** The history with the new events. */
  readonly after: Given;
  then(facts: readonly SessionFact[]): Given;
  /** Accepted, with events of these types in this order. */
  thenTypes(types: readonly SessionFact['type'][]): Given;
  /** Accepted without events: already done. */
  thenNothing(): Given;
  thenRefused(code: RefusalCode): Given;
}

export function given(facts: readonly GivenFact[]): Given {
  return from(recorded([], facts));
}

export function recorded(before: readonly StreamEvent[], facts: readonly GivenFact[]): StreamEvent[] {
  const events = [...before];
  for (const entry of facts) {
    const { fact, at } =
      'fact' in entry ? entry : { fact: entry, at: (events.at(-1)?.recordedAt ?? START - STEP) + STEP };
    events.push({ ...fact, version: events.length + 1, recordedAt: at });
  }
  return events;
}

function from(events: readonly StreamEvent[]): Given {
  const state = fold(events);
  return {
    events,
    state,
    now: state.lastActivityAt,
    when: (command) => when(events, state, decide(state, command)),
    and: (facts) => from(recorded(events, facts)),
  };
}

function when(events: readonly StreamEvent[], state: SessionState, decision: Decision): When {
  const next = decision.ok ? from(recorded(events, decision.events)) : from(events);
  const check = (expected: unknown, actual: unknown): Given => {
    const [wanted, got] = [pretty(expected), pretty(actual)];
    if (wanted !== got)
      throw new Error(`expected\n${wanted}\nbut got\n${got}\nafter version ${state.version}`);
    return next;
  };
  return {
    decision,
    after: next,
    // biome-ignore lint/suspicious/noThenProperty: given, when and then are the usual words, and nobody awaits this.
    then: (facts) => check(facts, decision.ok ? decision.events : decision),
    thenTypes: (types) => check(types, decision.ok ? decision.events.map((event) => event.type) : decision),
    thenNothing: () => check([], decision.ok ? decision.events : decision),
    thenRefused: (code) => check(code, decision.ok ? decision : decision.code),
  };
}

/** The first run of a session starts `proc_0` and waits for its end. */
export function waitingCall(now: number): SessionCommand[] {
  const respond = (step: number, callId: string, name: string): SessionCommand => ({
    type: 'record-model-response',
    generation: 1,
    step,
    model: 'main',
    text: '',
    toolCalls: [{ id: callId, name, arguments: '{}' }],
    finishReason: 'tool-calls',
    usage: { input_tokens: 1, output_tokens: 1 },
  });
  const start = (callId: string, tool: string, args: string): SessionCommand => ({
    type: 'start-tool',
    generation: 1,
    callId,
    tool,
    arguments: args,
  });
  return [
    {
      type: 'start-run',
      generation: 1,
      turn: 1,
      runner: 'runner#0',
      resumed: false,
      attempt: 1,
      takeover: false,
    },
    respond(1, 'begin', 'terminal'),
    start('begin', 'terminal', '{}'),
    {
      type: 'process-started',
      processId: 'proc_0',
      callId: 'begin',
      command: 'x',
      host: 'h',
      bootId: 'b',
      pid: 1,
      pidStartTime: '1',
      cwd: '/',
      notifyOnComplete: true,
      waitDeadline: now + 200_000,
    },
    { type: 'finish-tool', generation: null, callId: 'begin', outcome: 'ok', result: 'proc_0' },
    respond(2, 'wait', 'process'),
    start('wait', 'process', JSON.stringify({ action: 'wait', process_id: 'proc_0' })),
  ];
}

/** Sorts the keys, because the order of fields does not matter. */
function pretty(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, part: unknown) =>
      part !== null && typeof part === 'object' && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
        : part,
    2,
  );
}
