import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Batcher, MOST_EVENTS } from './batcher.ts';
import { type FeedBatch, type FeedEvent, parseFeedEvent } from './feed-event.ts';

const event = (version: number): FeedEvent => ({
  stream_id: 's',
  session_id: 's',
  position: version,
  version,
  type: 'x',
  recorded_at: '',
  data: {},
  meta: {},
});

describe('live events', () => {
  let batches: FeedBatch[];
  let batcher: Batcher;

  beforeEach(() => {
    jest.useFakeTimers();
    batches = [];
    batcher = new Batcher((batch) => batches.push(batch));
  });
  afterEach(() => {
    jest.useRealTimers();
  });
  const versions = () => batches.map(({ events }) => events.map(({ version }) => version));

  it('are shown within a frame when nothing happened before, the events of one commit together', () => {
    batcher.add(event(1));
    batcher.add(event(2));
    expect(batches).toEqual([]);
    jest.advanceTimersByTime(16);
    expect(versions()).toEqual([[1, 2]]);
  });

  it('come at most ten times a second while they keep coming, and none is left out', () => {
    for (let n = 1; n <= 100; n += 1) {
      batcher.add(event(n));
      jest.advanceTimersByTime(10);
    }
    jest.advanceTimersByTime(100);
    expect(batches.length).toBeLessThanOrEqual(11);
    expect(versions().flat()).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
    expect(batches.some(({ gap }) => gap)).toBe(false);
  });

  it('are dropped when there are too many at once, and the batch says so', () => {
    for (let n = 0; n <= MOST_EVENTS; n += 1) batcher.add(event(n));
    jest.advanceTimersByTime(100);
    expect(batches).toEqual([{ events: [event(MOST_EVENTS)], gap: true }]);
  });

  it('tell of a gap also without an event, once', () => {
    batcher.markGap();
    jest.advanceTimersByTime(100);
    batcher.add(event(1));
    jest.advanceTimersByTime(100);
    expect(batches.map(({ gap }) => gap)).toEqual([true, false]);
  });
});

it('a message that only tells the place in the log is no event', () => {
  expect(parseFeedEvent('')).toBeNull();
  expect(parseFeedEvent('{')).toBeNull();
  expect(parseFeedEvent('null')).toBeNull();
  expect(parseFeedEvent(JSON.stringify(event(3)))).toEqual(event(3));
});
