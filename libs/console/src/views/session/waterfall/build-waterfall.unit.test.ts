import { describe, expect, it } from '@jest/globals';
import { type SessionEvent, withLiveEvents } from '../session-event.ts';
import { buildWaterfall } from './build-waterfall.ts';
import type { Step } from './step.ts';

const START = Date.parse('2026-11-18T14:00:00Z');

/** Events one second apart: `[type, data]`. */
type Given = readonly [type: string, data?: object];
function history(...given: readonly Given[]): SessionEvent[] {
  return given.map(([type, data = {}], index) => ({
    position: 100 + index,
    version: index + 1,
    type,
    recorded_at: new Date(START + index * 1_000).toISOString(),
    data,
    meta: {},
  }));
}

/** `kind label: state from-until`, in seconds from the beginning. */
const seconds = (at: number | null) => (at === null ? '…' : String((at - START) / 1_000));
const drawn = (steps: readonly Step[]) =>
  steps.map(
    ({ depth, label, state, from, until }) =>
      `${'  '.repeat(depth)}${label}: ${state} ${seconds(from)}-${seconds(until)}`,
  );
const waterfall = (...given: readonly Given[]) => drawn(buildWaterfall(history(...given)));

const accepted = [['session.created'], ['turn.requested', { turn: 1, source: 'webhook' }]] as const;
const run = (generation: number, more = {}) => ['run.started', { generation, turn: 1, ...more }] as const;
const usage = { input_tokens: 1_204, output_tokens: 87 };
const model = ['model.responded', { model: 'main', usage }] as const;
const tool = (id: string) =>
  ['tool.started', { call_id: id, tool: 'terminal', arguments: '{"command":"ls"}' }] as const;
const result = (id: string, outcome = 'ok') =>
  ['tool.finished', { call_id: id, tool: 'terminal', outcome }] as const;
const answer = ['session.final-response', { outcome: 'succeeded', text: 'done', silent: false }] as const;
const ended = ['session.ended', { outcome: 'succeeded' }] as const;

describe('the waterfall', () => {
  it('has a call that was refused before it started', () => {
    expect(waterfall(...accepted, run(1), model, result('a', 'error'), model)).toEqual([
      'Queue: done 1-2',
      'Run 1: under way 2-…',
      '  main: done 2-3',
      '  terminal: error 4-4',
      '  main: done 4-5',
      '  Model call: under way 5-…',
    ]);
  });

  it('has the queue, the run with its model calls and tools, and the delivery with its attempt', () => {
    expect(
      waterfall(
        ...accepted,
        run(1),
        model,
        tool('a'),
        result('a'),
        model,
        answer,
        ended,
        ['delivery.attempted', { output: 8, attempt: 1, target: 'telegram' }],
        ['delivery.succeeded', { output: 8, attempt: 1 }],
      ),
    ).toEqual([
      'Queue: done 1-2',
      'Run 1: succeeded 2-7',
      '  main: done 2-3',
      '  terminal: ok 4-5',
      '  main: done 5-6',
      'Delivery of the answer: delivered 7-10',
      '  Attempt 1: taken 9-10',
    ]);
  });

  it('tells the tokens of a model call and the events of every step', () => {
    const steps = buildWaterfall(history(...accepted, run(1), model));
    expect(steps[2]).toMatchObject({ kind: 'model', note: '1,204 in, 87 out', versions: [4], id: 'model-4' });
    expect(steps[0]).toMatchObject({ versions: [2, 3] });
  });

  it('has the wait for an approval, with what became of it and who decided', () => {
    const asked = [
      'approval.requested',
      { approval_id: 's.1', call_id: 'a', tool: 'terminal', arguments: '{"command":"rm x"}' },
    ] as const;
    const decided = (decision: string) =>
      ['approval.decided', { approval_id: 's.1', decision, actor: 'telegram:1' }] as const;
    const steps = buildWaterfall(history(...accepted, run(1), model, asked, decided('approve'), run(2)));
    expect(drawn(steps)).toEqual([
      'Queue: done 1-2',
      'Run 1: asks 2-4',
      '  main: done 2-3',
      'Waits for an approval: approved 4-5',
      'Delivery of the request: pending 4-…',
      'Queue: done 5-6',
      'Run 2: under way 6-…',
      '  Model call: under way 6-…',
    ]);
    expect(steps[3]?.note).toBe('terminal rm x');
    expect(steps[5]?.note).toBe('approved by telegram:1');
    expect(waterfall(...accepted, run(1), model, asked, decided('deny'))[3]).toBe(
      'Waits for an approval: denied 4-5',
    );
    const expired = ['approval.expired', { approval_id: 's.1', reason: 'time' }] as const;
    expect(waterfall(...accepted, run(1), model, asked, expired)[3]).toBe(
      'Waits for an approval: expired 4-5',
    );
  });

  it('of a running session ends with the model call that is under way', () => {
    expect(waterfall(...accepted, run(1), model, tool('a'), result('a'))).toEqual([
      'Queue: done 1-2',
      'Run 1: under way 2-…',
      '  main: done 2-3',
      '  terminal: ok 4-5',
      '  Model call: under way 5-…',
    ]);
    expect(waterfall(...accepted, run(1), model, tool('a')).at(-1)).toBe('  terminal: under way 4-…');
    expect(waterfall(...accepted)).toEqual(['Queue: under way 1-…']);
  });

  it('begins a model call where the step before it ended, whatever was said meanwhile', () => {
    const status = ['session.interim-status', { text: 'Still working' }] as const;
    expect(waterfall(...accepted, run(1), model, model, status, model).slice(2, 6)).toEqual([
      '  main: done 2-3',
      '  main: done 3-4',
      '  Status: sent 5-5',
      '  main: done 4-6',
    ]);
  });

  it('begins a model call by how long it took, if the event says so', () => {
    const call = ['model.responded', { model: 'main', usage, duration_ms: 400 }] as const;
    expect(waterfall(...accepted, run(1), call).at(2)).toBe('  main: done 2.6-3');
    const long = ['model.responded', { model: 'main', usage, duration_ms: 60_000 }] as const;
    expect(waterfall(...accepted, run(1), long).at(2)).toBe('  main: done 2-3');
  });

  it('shows a run whose runner died as lost, and the next generation', () => {
    expect(waterfall(...accepted, run(1), model, run(2, { resumed: true }), model, answer, ended)).toEqual([
      'Queue: done 1-2',
      'Run 1: lost 2-4',
      '  main: done 2-3',
      'Run 2: succeeded 4-6',
      '  main: done 4-5',
      'Delivery of the answer: pending 6-…',
    ]);
  });

  it('shows how long it waited for a person, and the queue after the answer', () => {
    expect(
      waterfall(
        ...accepted,
        run(1),
        model,
        ['clarification.requested', { question: 'Which one?' }],
        ['clarification.answered', { answer: 'that' }],
        run(2),
      ),
    ).toEqual([
      'Queue: done 1-2',
      'Run 1: asks 2-4',
      '  main: done 2-3',
      'Waits for an answer: answered 4-5',
      'Delivery of the question: pending 4-…',
      'Queue: done 5-6',
      'Run 2: under way 6-…',
      '  Model call: under way 6-…',
    ]);
  });

  it('shows a wait for a model, and an interruption', () => {
    expect(
      waterfall(
        ...accepted,
        run(1),
        ['run.put-off', { reason: 'unavailable' }],
        run(2),
        ['run.interrupted'],
        run(3),
      ),
    ).toEqual([
      'Queue: done 1-2',
      'Run 1: put off 2-3',
      'Waits for a model: done 3-4',
      'Run 2: interrupted 4-5',
      'Queue: done 5-6',
      'Run 3: under way 6-…',
      '  Model call: under way 6-…',
    ]);
  });

  it('shows every attempt of a delivery: unknown, failed, dead, and again after a retry', () => {
    const attempt = (n: number) =>
      ['delivery.attempted', { output: 3, attempt: n, target: 'slack' }] as const;
    expect(
      waterfall(
        ...accepted,
        answer,
        attempt(1),
        attempt(2),
        ['delivery.failed', { output: 3, attempt: 2, reason: 'rate limited' }],
        attempt(3),
        ['delivery.dead', { output: 3, attempt: 3, reason: 'channel_not_found' }],
        ['delivery.retry-requested', { output: 3, by: 'api' }],
        attempt(1),
      ).slice(1),
    ).toEqual([
      'Delivery of the answer: sending 2-…',
      '  Attempt 1: outcome unknown 3-4',
      '  Attempt 2: failed 4-5',
      '  Attempt 3: failed 6-7',
      '  Attempt 1: under way 9-…',
    ]);
  });

  it('shows processes that outlive the session, with how they ended', () => {
    const started = ['process.started', { process_id: 'p', command: 'make\nall' }] as const;
    const before = [...accepted, run(1), started, answer, ended] as const;
    expect(waterfall(...before)).toContain('Process: under way 3-…');
    expect(waterfall(...before, ['process.exited', { process_id: 'p', exit_code: 7 }])).toContain(
      'Process: exit code 7 3-6',
    );
    expect(waterfall(...before, ['process.lost', { process_id: 'p' }])).toContain('Process: lost 3-6');
  });

  it('ends every wait and run of a cancelled session', () => {
    expect(waterfall(...accepted, run(1), ['run.cancelled', { by: 'api' }], ['session.ended'])).toEqual([
      'Queue: done 1-2',
      'Run 1: cancelled 2-3',
    ]);
    expect(waterfall(...accepted, ['run.cancelled'], ['session.ended'])).toEqual(['Queue: cancelled 1-2']);
  });

  it('keeps a second turn in the queue while the first one runs', () => {
    expect(
      waterfall(...accepted, ['turn.requested', { turn: 2, source: 'message' }], run(1), answer, run(2)),
    ).toEqual([
      'Queue: done 1-3',
      'Queue: done 2-5',
      'Run 1: succeeded 3-4',
      'Delivery of the answer: pending 4-…',
      'Run 2: under way 5-…',
      '  Model call: under way 5-…',
    ]);
  });

  it('is not disturbed by types and fields that it does not know', () => {
    expect(
      waterfall(...accepted, ['session.renamed', { a: 1 }], ['model.responded', {}], ['tool.finished', {}]),
    ).toEqual(['Queue: under way 1-…', 'model: done 3-3']);
  });
});

describe('live events of a session', () => {
  const known = history(...accepted, run(1));
  const live = history(...accepted, run(1), model, answer).slice(2);

  it('are added once and in order', () => {
    expect(withLiveEvents(known, live.toReversed())?.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5]);
    expect(withLiveEvents(known, live.slice(0, 1))).toBe(known);
  });

  it('are not added when one is missing in between', () => {
    expect(withLiveEvents(known, live.slice(-1))).toBeNull();
  });
});
