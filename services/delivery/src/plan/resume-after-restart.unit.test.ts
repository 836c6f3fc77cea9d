import { createLogger } from '@angelia/service-kit';
import { expect, it } from '@jest/globals';
import { resumeAfterRestart } from './resume-after-restart.ts';

const logger = createLogger({ service: 'delivery', instance: 'test', level: 'silent' });

it('a delivery that cannot be resumed does not hold up the others', async () => {
  const handled: string[] = [];
  const listed = ['first', 'broken', 'last'].map((id) => ({
    sessionId: id,
    output: 1,
    target: 'log',
    attempts: 1,
    dueAt: null,
    status: 'pending',
    updatedAt: 1,
    detail: {},
  }));
  await resumeAfterRestart({
    lists: { deliveries: async () => ({ items: listed, nextCursor: null }) },
    startTime: { learn: async () => 1 },
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
  });
  expect(handled).toEqual(['first', 'broken', 'last']);
});
