import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Refresher } from './refresher.ts';

describe('a list that follows the live feed', () => {
  let asked: number[];
  let refresher: Refresher;

  beforeEach(() => {
    jest.useFakeTimers({ now: 0 });
    asked = [];
    refresher = new Refresher(() => asked.push(Date.now()));
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is asked for soon after an event, and once more when the views must have caught up', () => {
    refresher.poke();
    jest.advanceTimersByTime(60_000);
    expect(asked).toEqual([250, 3_000]);
  });

  it('is asked for at most once a second while events keep coming, and after the last of them', () => {
    for (let n = 0; n < 100; n += 1) {
      refresher.poke();
      jest.advanceTimersByTime(50);
    }
    jest.advanceTimersByTime(60_000);
    expect(asked).toEqual([250, 1_250, 2_250, 3_250, 4_250, 5_250, 7_950]);
  });

  it('is not asked for any more when nobody shows it', () => {
    refresher.poke();
    refresher.stop();
    jest.advanceTimersByTime(60_000);
    expect(asked).toEqual([]);
  });
});
