import type { JobFact, RecordedEvent } from '@angelia/contracts';
import { expect, it } from '@jest/globals';
import { foldJob, isOpen, NO_PROGRESS, withResult } from './job.ts';

const START = Date.parse('2026-11-18T10:00:00Z');

function recorded(facts: readonly JobFact[]): RecordedEvent[] {
  return facts.map((fact, index) => ({
    position: index,
    streamId: 'job-1',
    version: index + 1,
    type: fact.type,
    schemaVersion: 1,
    eventId: `e-${index}`,
    data: fact.data,
    meta: { actor: 'api' },
    recordedAt: START + index * 1_000,
  }));
}

const requested: JobFact = {
  type: 'job.requested',
  data: {
    action: 'cancel',
    filter: { route: 'r' },
    before: new Date(START).toISOString(),
    matches: 3,
    matches_exact: true,
  },
};
const progressed = (done: number, batch: string[], cursor: string | null = null): JobFact => ({
  type: 'job.progressed',
  data: { ...NO_PROGRESS, done, batch, cursor },
});

it('a job is queued, runs in batches and finishes', () => {
  const facts: JobFact[] = [
    requested,
    progressed(0, ['a', 'b'], 'x'),
    progressed(2, ['c']),
    { type: 'job.finished', data: { ...NO_PROGRESS, done: 3 } },
  ];
  const folded = facts.map((_, index) => foldJob('1', recorded(facts.slice(0, index + 1))));
  expect(folded.map((job) => [job?.status, job?.progress.done, job?.batch, job?.cursor])).toEqual([
    ['queued', 0, [], undefined],
    ['running', 0, ['a', 'b'], 'x'],
    ['running', 2, ['c'], null],
    ['finished', 3, [], null],
  ]);
  expect(folded.at(-1)).toMatchObject({
    requestedAt: START,
    requestedBy: 'api',
    startedAt: START + 1_000,
    endedAt: START + 3_000,
    version: 4,
  });
  expect(folded.map((job) => job !== null && isOpen(job))).toEqual([true, true, true, false]);
});

it('the first two and the last two events are enough', () => {
  const all = recorded([requested, progressed(0, ['a']), progressed(1, ['b']), progressed(2, ['c'])]);
  const ends = [...all.slice(0, 2), ...all.slice(-1)];
  expect(foldJob('1', ends)).toEqual(foldJob('1', all));
});

it('a cancelled job keeps what was under way until the leader has stopped', () => {
  const facts: JobFact[] = [
    requested,
    progressed(0, ['a']),
    { type: 'job.cancel-requested', data: { by: 'api' } },
  ];
  expect(foldJob('1', recorded(facts))).toMatchObject({ status: 'cancelling', batch: ['a'] });
  expect(
    foldJob('1', recorded([...facts, { type: 'job.cancelled', data: { ...NO_PROGRESS, done: 1 } }])),
  ).toMatchObject({ status: 'cancelled', batch: [], progress: { done: 1 } });
});

it('results are counted, with the reasons of what was skipped and the first failures', () => {
  let progress = withResult(NO_PROGRESS, 'a', { outcome: 'done' });
  for (const reason of ['gone', 'gone', 'not_dead'])
    progress = withResult(progress, 'b', { outcome: 'skipped', reason });
  for (let n = 0; n < 30; n += 1)
    progress = withResult(progress, `f-${n}`, { outcome: 'failed', reason: 'no' });
  expect(progress).toMatchObject({ done: 1, skipped: 3, failed: 30, skips: { gone: 2, not_dead: 1 } });
  expect(progress.failures).toHaveLength(20);
  expect(progress.failures[0]).toEqual({ id: 'f-0', reason: 'no' });
});

it('there is no job without a request', () => {
  expect(foldJob('1', [])).toBeNull();
  expect(foldJob('1', recorded([progressed(0, [])]))).toBeNull();
});
