import type { RecordedEvent, SessionFact } from '@angelia/contracts';
import { sessionId } from '@angelia/contracts';
import { fold } from '@angelia/session';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type Context, trace } from '@opentelemetry/api';
import type { Loaded } from './sessions.ts';
import { traceWaits } from './trace-waits.ts';
import { setTracing } from './tracing.ts';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const START = 1_000_000_000_000;

interface Started {
  readonly name: string;
  readonly startMs: number;
  endMs?: number;
  readonly parent: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
}
let started: Started[];
const ms = ([seconds, nanoseconds]: [number, number]) => seconds * 1000 + nanoseconds / 1e6;

beforeEach(() => {
  started = [];
  const startSpan = (
    name: string,
    options: { startTime: [number, number]; attributes: Readonly<Record<string, unknown>> },
    parent: Context,
  ) => {
    const span: Started = {
      name,
      startMs: ms(options.startTime),
      parent: trace.getSpanContext(parent)?.spanId,
      attributes: options.attributes,
    };
    started.push(span);
    return {
      setAttribute: () => {},
      setStatus: () => {},
      end: (time: [number, number]) => {
        span.endMs = ms(time);
      },
    };
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) } as never);
  setTracing(true);
});
afterEach(() => {
  setTracing(false);
  trace.disable();
});

/** The session after these facts, which were recorded at these seconds. */
function loadedWith(facts: readonly (readonly [seconds: number, fact: SessionFact])[]): Loaded {
  const events = facts.map(
    ([seconds, fact], at): RecordedEvent => ({
      position: 0,
      streamId: 's',
      version: at + 1,
      type: fact.type,
      schemaVersion: 1,
      eventId: `e-${at}`,
      data: fact.data,
      meta: { actor: 'test', correlation: 's', traceparent: TRACEPARENT },
      recordedAt: START + seconds * 1000,
    }),
  );
  return { id: sessionId('s'), state: fold(events), events, version: events.length };
}

const created = {
  type: 'session.created',
  data: {
    route: 'r',
    event: null,
    delivery_id: 'd',
    title: 't',
    agent: 'a',
    deliver: { target: 'log', to: {} },
  },
} as unknown as SessionFact;
const turn = {
  type: 'turn.requested',
  data: { turn: 1, source: 'webhook', input: 'x' },
} as unknown as SessionFact;
const run = {
  type: 'run.started',
  data: { generation: 1, turn: 1, runner: 'r#1', resumed: false, attempt: 1 },
} as SessionFact;
const final = {
  type: 'session.final-response',
  data: { generation: 1, turn: 1, text: 'x', outcome: 'succeeded', silent: false },
} as SessionFact;
const attempted = (attempt: number) =>
  ({
    type: 'delivery.attempted',
    data: {
      output: 4,
      attempt,
      target: 'log',
      via: 'target',
      sender: 's',
      deadline_seconds: 9,
      possible_duplicate: false,
    },
  }) as SessionFact;
const failed = {
  type: 'delivery.failed',
  data: {
    output: 4,
    attempt: 1,
    reason: 'x',
    retry_at: '2026-01-01T00:00:00Z',
    counts: true,
    unknown: false,
  },
} as SessionFact;

function append(
  before: readonly (readonly [number, SessionFact])[],
  seconds: number,
  fact: SessionFact,
): void {
  const after = () => loadedWith([...before, [seconds, fact]]).state;
  traceWaits(loadedWith(before), [fact], START + seconds * 1000, after);
}

const queued = [
  [0, created],
  [0, turn],
] as const;

it('a wait in the queue is a span below the root, from the request to the run', () => {
  append(queued, 30, run);
  expect(started).toEqual([
    {
      name: 'wait in queue',
      startMs: START,
      endMs: START + 30_000,
      parent: 'b7ad6b7169203331',
      attributes: { 'gen_ai.conversation.id': 's', 'angelia.ended_by': 'run.started' },
    },
  ]);
});

it('a wait of less than a second in the queue is not shown, and costs no fold', () => {
  const after = () => {
    throw new Error('was folded');
  };
  traceWaits(loadedWith(queued), [run], START + 900, after);
  expect(started).toEqual([]);
});

it('a wait for the retry of a delivery is a span from its failure to the next attempt', () => {
  const delivering = [...queued, [1, run], [2, final], [3, attempted(1)], [4, failed]] as const;
  append(delivering, 34, attempted(2));
  expect(started.map(({ name, startMs, endMs }) => [name, startMs, endMs])).toEqual([
    ['wait for target', START + 4_000, START + 34_000],
  ]);
});

it('what ends no wait is not shown', () => {
  append([...queued, [30, run]], 31, final);
  append([...queued, [1, run], [2, final]], 3, attempted(1));
  expect(started).toEqual([]);
});

it('the wait for a model is a span from the put-off to the next run, however short', () => {
  const putOff = {
    type: 'run.put-off',
    data: {
      generation: 1,
      turn: 1,
      reason: 'unavailable',
      retry_at: new Date(START + 15_000).toISOString(),
      models: [{ model: 'm', code: 'unavailable', message: 'x', called: true }],
    },
  } as SessionFact;
  const again = { ...run, data: { ...run.data, generation: 2 } } as SessionFact;
  append([...queued, [0, run], [0.2, putOff]], 0.9, again);
  expect(started).toMatchObject([
    {
      name: 'wait for model',
      startMs: START + 200,
      endMs: START + 900,
      attributes: { 'angelia.ended_by': 'run.started' },
    },
  ]);
});
