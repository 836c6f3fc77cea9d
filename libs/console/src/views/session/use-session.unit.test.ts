import { describe, expect, it } from '@jest/globals';
import type { FeedBatch, FeedEvent } from '../../api/feed/feed-event.ts';
import { isBehind, withArrivals } from './use-session.ts';

const event = (type: string, output: number) => ({ type, data: { output } });

describe('the list of deliveries is behind the events', () => {
  it('while it does not know an end that they know', () => {
    const ended = [event('delivery.attempted', 4), event('delivery.succeeded', 4)];
    expect(isBehind([{ output: 4, status: 'pending' }], ended)).toBe(true);
    expect(isBehind([], ended)).toBe(true);
    expect(isBehind([{ output: 4, status: 'delivered' }], ended)).toBe(false);
    expect(isBehind([{ output: 4, status: 'pending' }], [event('delivery.dead', 4)])).toBe(true);
  });

  it('not while an attempt is under way, also one after the delivery was dead', () => {
    const again = [event('delivery.dead', 4), event('delivery.attempted', 4)];
    expect(isBehind([{ output: 4, status: 'pending' }], again)).toBe(false);
    expect(isBehind([], [event('session.created', 1)])).toBe(false);
  });
});

it('an event that arrives while the events are on their way is not lost', async () => {
  let send: (batch: FeedBatch) => void = () => {};
  let listening = 0;
  const feed = {
    subscribe: (listener: typeof send) => {
      send = listener;
      listening += 1;
      return () => {
        listening -= 1;
      };
    },
  };
  const at = (version: number, session_id = 'a'): FeedEvent => ({
    stream_id: session_id,
    session_id,
    position: version,
    version,
    type: 'x',
    recorded_at: '',
    data: {},
    meta: {},
  });
  const events = withArrivals(
    'a',
    async () => {
      send({ events: [at(2), at(3), at(3, 'b'), at(4)], gap: false });
      return [at(1), at(2)];
    },
    feed,
  );
  expect((await events).map(({ version }) => version)).toEqual([1, 2, 3, 4]);
  expect(listening).toBe(0);
});
