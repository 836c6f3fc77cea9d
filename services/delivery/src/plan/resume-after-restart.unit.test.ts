import { createLogger } from '@angelia/service-kit';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { type ResumeOptions, resumeAfterRestart } from './resume-after-restart.ts';

const logger = createLogger({ service: 'delivery', instance: 'test', level: 'silent' });

let handled: string[];

beforeEach(() => {
  jest.useFakeTimers();
  handled = [];
});

afterEach(() => {
  jest.useRealTimers();
});

const listed = (...ids: string[]) => ({
  items: ids.map((id) => ({
    sessionId: id,
    output: 1,
    target: 'log',
    attempts: 1,
    dueAt: null,
    status: 'pending',
    updatedAt: 1,
    detail: {},
  })),
  nextCursor: null,
});

const resume = (options: Pick<ResumeOptions, 'lists'> & Partial<ResumeOptions>) =>
  resumeAfterRestart({
    status: { health: async () => ({ tailLagMs: 0, relayLagMs: 0, projectionLagMs: 0, deadLetters: 0 }) },
    startTime: { learn: async () => 1, elapsedMs: 10 },
    dispatcher: {
      handle: async ({ stream_id }) => {
        handled.push(stream_id);
        if (stream_id === 'broken') throw new Error('it cannot be read');
        return 'done';
      },
    },
    claimMs: 45_000,
    logger,
    // An end for the test if the loop repeats for ever.
    draining: () => handled.length >= 6,
    ...options,
  });

it('a delivery that cannot be resumed does not hold up the others', async () => {
  await resume({ lists: { deliveries: async () => listed('first', 'broken', 'last') } });
  expect(handled).toEqual(['first', 'broken', 'last']);
});

it('views that are behind are listed again until they show the start, and each delivery is handled once', async () => {
  const lags = [5_000, 5_000, 9, 0];
  const pages = [listed('early'), listed('early'), listed('late', 'early'), listed('too late')];
  const resumed = resume({
    lists: { deliveries: async () => pages.shift() ?? listed() },
    status: {
      health: async () => ({
        tailLagMs: 0,
        relayLagMs: 0,
        projectionLagMs: lags.shift() ?? 0,
        deadLetters: 0,
      }),
    },
  });
  await jest.advanceTimersByTimeAsync(10_000);
  await resumed;
  expect(handled).toEqual(['early', 'late']);
});

it('views that stay behind are listed only until every older claim has run out', async () => {
  const startTime = { learn: async () => 1, elapsedMs: 10 };
  const resumed = resume({
    lists: { deliveries: async () => listed('early') },
    startTime,
    status: {
      health: async () => ({ tailLagMs: 0, relayLagMs: 0, projectionLagMs: 60_000, deadLetters: 0 }),
    },
  });
  await jest.advanceTimersByTimeAsync(3_000);
  startTime.elapsedMs = 45_001;
  await jest.advanceTimersByTimeAsync(1_000);
  await resumed;
  expect(handled).toEqual(['early']);
});
