import { describe, expect, it } from '@jest/globals';
import { Circuits, circuitLimits } from './circuits.ts';

const limits = { failures: 3, firstPauseMs: 100, lastPauseMs: 300, staleMs: 1_000 };

function opened(): Circuits {
  const circuits = new Circuits(limits);
  for (const verdict of ['same', 'same', 'opened']) {
    expect(circuits.settle('p', 'failed', false, 0)).toBe(verdict);
  }
  return circuits;
}

describe('a circuit', () => {
  it('opens after failures in a row, and does not affect other circuits', () => {
    const circuits = opened();
    expect(circuits.waitMs('p', 40)).toBe(60);
    expect(circuits.waitMs('q', 40)).toBe(0);
  });

  it('stays closed if a send succeeds in between', () => {
    const circuits = new Circuits(limits);
    for (const verdict of ['failed', 'failed', 'worked', 'failed', 'failed', 'undecided'] as const) {
      expect(circuits.settle('p', verdict, false, 0)).toBe('same');
    }
    expect(circuits.waitMs('p', 0)).toBe(0);
  });

  it('lets a probe through after the pause; the others wait for its verdict', () => {
    const circuits = opened();
    expect(circuits.waitMs('p', 100)).toBe(0);
    expect(circuits.pass('p')).toBe(true);
    expect(circuits.waitMs('p', 100)).toBe(Number.POSITIVE_INFINITY);
    expect(circuits.settle('p', 'worked', true, 120)).toBe('closed');
    expect(circuits.waitMs('p', 120)).toBe(0);
    expect(circuits.pass('p')).toBe(false);
  });

  it('stays open if the probe fails, each time twice as long, up to the longest pause', () => {
    const circuits = opened();
    let now = 100;
    for (const pause of [200, 300, 300]) {
      expect(circuits.waitMs('p', now)).toBe(0);
      circuits.pass('p');
      circuits.settle('p', 'failed', true, now);
      expect(circuits.waitMs('p', now)).toBe(pause);
      now += pause;
    }
  });

  it('lets the next probe through if the first one is undecided', () => {
    const circuits = opened();
    circuits.pass('p');
    expect(circuits.settle('p', 'undecided', true, 100)).toBe('same');
    expect(circuits.waitMs('p', 100)).toBe(0);
  });

  it('stays open no longer because of sends that were in flight when it opened, and closes if one of them works', () => {
    const circuits = opened();
    circuits.settle('p', 'failed', false, 90);
    expect(circuits.waitMs('p', 100)).toBe(0);
    expect(circuits.settle('p', 'worked', false, 90)).toBe('closed');
  });
});

describe('the number of open circuits', () => {
  it('includes a circuit for as long as its probes fail', () => {
    const circuits = opened();
    for (const now of [100, 900, 1_800]) {
      expect(circuits.openAt(now)).toBe(1);
      circuits.pass('p');
      circuits.settle('p', 'failed', true, now);
    }
    circuits.pass('p');
    expect(circuits.openAt(9_000)).toBe(1);
    circuits.settle('p', 'worked', true, 9_000);
    expect(circuits.openAt(9_000)).toBe(0);
  });

  it('does not include a circuit that nobody has tried for a long time', () => {
    const circuits = opened();
    expect(circuits.openAt(1_000)).toBe(1);
    expect(circuits.openAt(1_001)).toBe(0);
    expect(circuits.waitMs('p', 1_001)).toBe(0);
  });
});

describe('the limits of a circuit', () => {
  it('have defaults, and are shorter if the retry schedule is', () => {
    expect(circuitLimits([5, 30, 120])).toMatchObject({ firstPauseMs: 2_000, lastPauseMs: 30_000 });
    expect(circuitLimits([0.2, 0.5, 5])).toMatchObject({ firstPauseMs: 200, lastPauseMs: 5_000 });
    expect(circuitLimits([0, 0])).toMatchObject({ firstPauseMs: 2_000, lastPauseMs: 2_000 });
    expect(circuitLimits([5, 3_600])).toMatchObject({ staleMs: 5_400_000 });
    expect(circuitLimits([])).toMatchObject({ firstPauseMs: 2_000, lastPauseMs: 2_000 });
  });
});

describe('a circuit that the other system asked to hold', () => {
  it('opens again exactly when it was told to, however long our own pause would be', () => {
    const circuits = new Circuits({
      failures: 1,
      firstPauseMs: 20_000,
      lastPauseMs: 60_000,
      staleMs: 600_000,
    });
    circuits.settle('p', 'failed', false, 0);
    expect(circuits.waitMs('p', 0)).toBe(20_000);
    circuits.hold('p', 0, 0);
    expect(circuits.waitMs('p', 0)).toBe(20_000);
    circuits.pass('p');
    circuits.settle('p', 'failed', true, 20_000);
    expect(circuits.waitMs('p', 20_000)).toBe(40_000);
    circuits.hold('p', 3_000, 20_000);
    expect(circuits.waitMs('p', 20_000)).toBe(3_000);
  });

  it('stays open for that long, and then lets a probe through', () => {
    const circuits = new Circuits(limits);
    expect(circuits.hold('p', 5_000, 0)).toBe('opened');
    expect(circuits.hold('p', 1_000, 100)).toBe('same');
    expect(circuits.waitMs('p', 4_999)).toBe(1);
    expect(circuits.waitMs('p', 5_000)).toBe(0);
    expect(circuits.pass('p')).toBe(true);
    expect(circuits.settle('p', 'worked', true, 5_000)).toBe('closed');
  });

  it('is closed by its probe only', () => {
    const circuits = new Circuits(limits);
    circuits.hold('p', 5_000, 0);
    expect(circuits.settle('p', 'worked', false, 10)).toBe('same');
    expect(circuits.waitMs('p', 10)).toBe(4_990);
  });

  it('is longer if it was open for another reason', () => {
    const circuits = opened();
    expect(circuits.hold('p', 50, 0)).toBe('same');
    expect(circuits.waitMs('p', 0)).toBe(100);
  });
});
