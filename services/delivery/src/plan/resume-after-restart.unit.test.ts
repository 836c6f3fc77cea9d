import { createLogger } from '@angelia/service-kit';
import { systemClock } from '@angelia/sessions';
import { expect, it } from '@jest/globals';
import { lookBack } from './resume-after-restart.ts';
import { StartTime } from './start-time.ts';

const logger = createLogger({ service: 'delivery', instance: 'test', level: 'silent' });

it('a delivery that cannot be looked at does not hold up those behind it', async () => {
  const looked: string[] = [];
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
  await lookBack({
    log: {
      now: async () => 1,
      lists: { deliveries: async () => ({ items: listed, nextCursor: null }) },
    },
    startTime: new StartTime(systemClock),
    deliveries: {
      look: async ({ stream_id }) => {
        looked.push(stream_id);
        if (stream_id === 'broken') throw new Error('it cannot be read');
        return 'done';
      },
    },
    claimMs: 45_000,
    logger,
    // Without an end of its own a look that is repeated for ever would be one that hangs.
    draining: () => looked.length >= 6,
  });
  expect(looked).toEqual(['first', 'broken', 'last']);
});
