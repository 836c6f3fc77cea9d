import { describe, expect, it } from '@jest/globals';
import { type GivenFact, recorded, START } from '../../testing/given-when-then.ts';
import {
  answered,
  asked,
  attempted,
  compressed,
  created,
  email,
  ended,
  exited,
  failed,
  interim,
  interrupted,
  modelAsked,
  modelSaid,
  processStarted,
  putOff,
  runStarted,
  toolFinished,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import { fact } from '../decision.ts';
import { iso } from '../time.ts';
import { type Measure, measure } from './measure.ts';
import { projectSession } from './project-session.ts';

/** The measures of a history. Its events are one second apart. */
function measured(facts: readonly GivenFact[]): Measure[] {
  const said: Measure[] = [];
  projectSession(null, recorded([], facts), (before, event, after) => {
    said.push(...measure(before, event, after));
  });
  return said;
}

const running = [created(), turn(1), runStarted(1)];
const delivered = (output: number, attempt = 1) =>
  fact('delivery.succeeded', { output, attempt, receipt: null });
const waited = (until: string, seconds: number) => ({
  what: 'waited',
  until,
  route: 'alerts',
  ms: seconds * 1000,
});

describe('what the events of a session add to the metrics', () => {
  it('how long its turn waited for a run, a status, the answer and its delivery, by the log’s clock', () => {
    const said = measured([
      ...running,
      interim('at work'),
      interim('still at work', { sequence: 2 }),
      answered(),
      ended(),
      attempted(6),
      delivered(6),
    ]);
    expect(said.filter(({ what }) => what === 'waited')).toEqual([
      waited('started', 1),
      waited('first-status', 2),
      waited('final', 4),
      waited('delivered', 7),
    ]);
  });

  it('the same after a takeover: the start counts once, for the first run', () => {
    const said = measured([
      ...running,
      interim('a'),
      runStarted(2, { resumed: true }),
      interim('b'),
      answered(),
    ]);
    expect(said.filter(({ what }) => what === 'waited')).toEqual([
      waited('started', 1),
      waited('first-status', 2),
      waited('final', 5),
    ]);
  });

  it('a coalesced webhook waits from the end of its window', () => {
    const window = START + 1_500;
    const said = measured([created({ start_after: iso(window) }), turn(1), runStarted(1)]);
    expect(said).toEqual([waited('started', 0.5)]);
  });

  it('each run once, with its outcome', () => {
    const outcomes = (facts: readonly GivenFact[]) =>
      measured(facts).flatMap((said) => (said.what === 'run-ended' ? [said.outcome] : []));
    expect(outcomes([...running, answered()])).toEqual(['succeeded']);
    expect(outcomes([...running, runStarted(2, { resumed: true }), interrupted(2)])).toEqual([
      'lost',
      'interrupted',
    ]);
    expect(outcomes([...running, putOff(1, START + 9_000), runStarted(2), answered()])).toEqual([
      'put_off',
      'succeeded',
    ]);
    expect(outcomes([...running, asked(START + 9_000)])).toEqual(['asked']);
    expect(outcomes([...running, fact('run.cancelled', { generation: 1, turn: 1, by: 'api' })])).toEqual([
      'cancelled',
    ]);
    const failure = fact('run.failed', { generation: 1, turn: 1, code: 'timeout', message: 'm' });
    expect(measured([...running, failure, answered('sorry', { outcome: 'failed' }), ended()])).toEqual(
      expect.arrayContaining([
        { what: 'run-ended', agent: 'default', outcome: 'failed', error: 'timeout', ms: 1000 },
        { what: 'turn-failed', agent: 'default', code: 'timeout' },
      ]),
    );
    expect(outcomes([...running, failure, answered('sorry', { outcome: 'failed' })])).toEqual(['failed']);
  });

  it('an error only for a run that failed or was lost', () => {
    const errors = (facts: readonly GivenFact[]) =>
      measured(facts).flatMap((said) => (said.what === 'run-ended' ? [said.error] : []));
    const cancelled = fact('run.cancelled', { generation: 2, turn: 1, by: 'api' });
    expect(errors([...running, runStarted(2), cancelled])).toEqual(['lost', null]);
    expect(errors([...running, interrupted(1), runStarted(2), answered()])).toEqual([null, null]);
  });

  it('steps, tokens and tools', () => {
    expect(
      measured([
        ...running,
        modelAsked(['c-1']),
        toolStarted('c-1'),
        toolFinished('c-1', { outcome: 'error' }),
        compressed(3),
        modelSaid('done', { step: 2, model: 'backup' }),
      ]).slice(1),
    ).toEqual([
      { what: 'step', agent: 'default', outcome: 'tools' },
      { what: 'tokens', model: 'main', input: 10, output: 5 },
      { what: 'tool-ended', agent: 'default', tool: 'terminal', outcome: 'error', ms: 1000 },
      { what: 'tokens', model: 'main', input: 100, output: 20 },
      { what: 'step', agent: 'default', outcome: 'answer' },
      { what: 'tokens', model: 'backup', input: 10, output: 5 },
    ]);
  });

  it('the outcome of each delivery attempt, by target', () => {
    const history = [
      created({ fallback_target: email }),
      turn(1),
      runStarted(1),
      answered(),
      attempted(4),
      failed(4, START),
      attempted(4, { attempt: 2 }),
      failed(4, START, { attempt: 2, unknown: true }),
      attempted(4, { attempt: 3 }),
      failed(4, START, { attempt: 3, counts: false }),
      fact('delivery.dead', { output: 4, attempt: 3, reason: 'r' }),
      attempted(4, { attempt: 4, via: 'fallback_target', target: 'email' }),
      delivered(4, 4),
    ];
    expect(measured(history).filter(({ what }) => what === 'delivery')).toEqual([
      { what: 'delivery', target: 'telegram', outcome: 'failed', attempt: 1 },
      { what: 'delivery', target: 'telegram', outcome: 'unknown', attempt: 2 },
      { what: 'delivery', target: 'telegram', outcome: 'held', attempt: 3 },
      { what: 'delivery', target: 'telegram', outcome: 'dead', attempt: 3 },
      { what: 'delivery', target: 'email', outcome: 'delivered', attempt: 4 },
    ]);
  });

  it('how processes and sessions ended', () => {
    expect(measured([...running, processStarted('p-1'), exited('p-1'), answered(), ended()])).toEqual(
      expect.arrayContaining([
        { what: 'process-ended', outcome: 'failed' },
        { what: 'session-ended', route: 'alerts', outcome: 'succeeded' },
      ]),
    );
  });
});
