import { eventTypes } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import type { SessionEvent } from '../api/types.ts';
import { styleFor } from '../terminal/style.ts';
import { describedTypes, eventLine } from './event-line.ts';
import { spansOf } from './spans.ts';
import { waterfall } from './waterfall.ts';

const BEGIN = Date.parse('2026-11-17T10:00:00.000Z');

/** Events at these milliseconds after the start. */
function events(...given: [ms: number, type: string, data?: Record<string, unknown>][]): SessionEvent[] {
  return given.map(([ms, type, data = {}], index) => ({
    position: index + 1,
    version: index + 1,
    type,
    recorded_at: new Date(BEGIN + ms).toISOString(),
    data,
    meta: {},
  }));
}

const plain = styleFor(false);
const drawn = (given: SessionEvent[], { width = 100, nowMs = 0 } = {}): string =>
  `\n${waterfall(spansOf(given), { width, style: plain, now: BEGIN + nowMs })}\n`;

const created = [0, 'session.created', { route: 'hook', title: 't' }] as [
  number,
  string,
  Record<string, unknown>,
];
const turn = [0, 'turn.requested', { turn: 1, source: 'webhook', input: 'x' }] as typeof created;

it('a model step begins as long before its answer as the answer took', () => {
  const [step] = spansOf(
    events(
      created,
      turn,
      [100, 'run.started', { generation: 1, turn: 1, runner: 'r1' }],
      [
        5_000,
        'model.responded',
        { generation: 1, turn: 1, step: 1, model: 'main', finish_reason: 'stop', duration_ms: 1_500 },
      ],
    ),
  ).filter(({ kind }) => kind === 'model');
  expect(step?.started_at).toBe(new Date(BEGIN + 3_500).toISOString());
});

describe('the waterfall of a session', () => {
  it('has a bar for queue, run, model step, tool and delivery, and a mark for each output', () => {
    const text = drawn(
      events(
        created,
        turn,
        [100, 'run.started', { generation: 1, turn: 1, runner: 'r1', resumed: false, attempt: 1 }],
        [
          400,
          'model.responded',
          {
            generation: 1,
            turn: 1,
            step: 1,
            model: 'main',
            finish_reason: 'tool-calls',
            usage: { input_tokens: 12, output_tokens: 3 },
          },
        ],
        [
          400,
          'tool.started',
          { generation: 1, turn: 1, call_id: 'c1', tool: 'terminal', arguments: '{"command":"ls"}' },
        ],
        [700, 'tool.finished', { turn: 1, call_id: 'c1', tool: 'terminal', outcome: 'ok', result: '' }],
        [
          900,
          'model.responded',
          {
            generation: 1,
            turn: 1,
            step: 2,
            model: 'main',
            finish_reason: 'stop',
            usage: { input_tokens: 20, output_tokens: 5 },
          },
        ],
        [
          900,
          'session.final-response',
          { generation: 1, turn: 1, text: 'done', outcome: 'succeeded', silent: false },
        ],
        [900, 'session.ended', { outcome: 'succeeded', reason: 'webhook_complete', detail: null }],
        [920, 'delivery.attempted', { output: 8, attempt: 1, target: 'http' }],
        [1000, 'delivery.succeeded', { output: 8, attempt: 1, receipt: null }],
      ),
    );
    expect(text).toBe(`
                   0                                   1.00 s
turn 1 queued      ━━━━━                                       100 ms  webhook
run 1                  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━      800 ms  succeeded: r1
  model main           ━━━━━━━━━━━━━                           300 ms  tool-calls: step 1, 12 in, 3…
  tool terminal                    ━━━━━━━━━━━━━━              300 ms  ok: {"command":"ls"}
  model main                                    ━━━━━━━━━      200 ms  stop: step 2, 20 in, 5 out
final response                                          ◆              succeeded: done
session ended                                           ◆              succeeded: webhook_complete
deliver 8 to http                                        ━━━━   80 ms  delivered
`);
  });

  it('draws running spans up to now, and shows a run as lost when the next one began', () => {
    const text = drawn(
      events(
        created,
        turn,
        [0, 'run.started', { generation: 1, turn: 1, runner: 'r1', resumed: false, attempt: 1 }],
        [5000, 'run.started', { generation: 2, turn: 1, runner: 'r2', resumed: true, attempt: 2 }],
      ),
      { nowMs: 10_000, width: 80 },
    );
    expect(text).toBe(`
               0                         10.0 s
turn 1 queued  ◆                                          webhook
run 1          ━━━━━━━━━━━━━━━━━                  5.00 s  lost: r1
run 2                          ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  5.00 s+  resumed, attempt 2, r2
`);
  });

  it('shows a question, a process, and failed deliveries before a successful one', () => {
    const text = drawn(
      events(
        created,
        turn,
        [0, 'run.started', { generation: 1, turn: 1, runner: 'r1', resumed: false, attempt: 1 }],
        [1000, 'process.started', { process_id: 'proc_1', command: 'make' }],
        [
          2000,
          'clarification.requested',
          { generation: 1, turn: 1, clarification_id: 'q', question: 'Which?' },
        ],
        [2100, 'delivery.attempted', { output: 5, attempt: 1, target: 'telegram' }],
        [2200, 'delivery.failed', { output: 5, attempt: 1, reason: '502' }],
        [4000, 'delivery.attempted', { output: 5, attempt: 2, target: 'telegram' }],
        [4100, 'delivery.succeeded', { output: 5, attempt: 2, receipt: '7' }],
        [8000, 'clarification.answered', { clarification_id: 'q', answer: 'the second', by: 'api' }],
        [10000, 'process.exited', { process_id: 'proc_1', exit_code: 7, signal: null }],
      ),
      { width: 90 },
    );
    expect(text).toBe(`
                       0                           10.0 s
turn 1 queued          ◆                                           webhook
run 1                  ━━━━━━━                             2.00 s  asked: r1
proc_1                    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  9.00 s  exit 7: make
question                     ━━━━━━━━━━━━━━━━━━━━━━        6.00 s  answered: the second
deliver 5 to telegram         ━                            100 ms  failed: 502
deliver 5 to telegram               ━                      100 ms  delivered: attempt 2
`);
  });

  it('shows a wait for a model between two runs, and how long it goes on', () => {
    const putOff = (generation: number, retryAt: string) => ({
      generation,
      turn: 1,
      reason: 'unavailable',
      retry_at: retryAt,
      models: [{ model: 'main', code: 'unavailable', message: 'm', called: true }],
    });
    const run = (generation: number) => ({ generation, turn: 1, runner: 'r1', resumed: false, attempt: 1 });
    const text = drawn(
      events(
        created,
        turn,
        [0, 'run.started', run(1)],
        [1000, 'run.put-off', putOff(1, '10:00:06')],
        [6000, 'run.started', run(2)],
        [7000, 'run.put-off', putOff(2, '10:01:00')],
      ),
      { nowMs: 10_000, width: 95 },
    );
    expect(text).toBe(`
                 0                                 10.0 s
turn 1 queued    ◆                                                  webhook
run 1            ━━━━━                                      1.00 s  put off: main unavailable
waits for model      ━━━━━━━━━━━━━━━━━━━━━                  5.00 s  unavailable, until 10:00:06
run 2                                    ━━━━━              1.00 s  put off: main unavailable
waits for model                              ┄┄┄┄┄┄┄┄┄┄┄┄  3.00 s+  unavailable, until 10:01:00
`);
  });

  it('is empty without events, and ignores an unknown event', () => {
    expect(waterfall([], { width: 80, style: plain, now: BEGIN })).toBe('');
    expect(spansOf(events([0, 'something.new', { a: 1 }]))).toEqual([]);
  });
});

describe('an event as a line', () => {
  it('has a text for every event type', () => {
    expect([...describedTypes].sort()).toEqual([...eventTypes].sort());
  });

  it('fits one line of the terminal, and never shortens the session id', () => {
    const session = '01a1e281-20d9-7563-b8f1-427765d52c50';
    const [event] = events([
      0,
      'session.final-response',
      { outcome: 'succeeded', silent: false, text: 'a\nlong answer '.repeat(20) },
    ]);
    const line = eventLine(event as SessionEvent, { style: plain, width: 120, session });
    expect(line).toContain(session);
    expect(line).toContain('succeeded: a long answer');
    expect(line).not.toContain('\n');
    expect(line.length).toBe(120);
    const narrow = eventLine(event as SessionEvent, { style: plain, width: 40, session });
    expect(narrow).toContain(session);
  });

  it('shows the data of a type that was added later', () => {
    const [event] = events([0, 'something.new', { a: 1 }]);
    expect(eventLine(event as SessionEvent, { style: plain, width: 200 })).toContain('{"a":1}');
  });
});
