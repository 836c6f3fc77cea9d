import { describe, expect, it } from '@jest/globals';
import type { Step, StepKind } from './step.ts';
import { stepsWithin, timeScale } from './time-scale.ts';

const step = (kind: StepKind, from: number, until: number | null): Step => ({
  id: `${kind}-${from}`,
  kind,
  label: '',
  note: '',
  depth: 0,
  from,
  until,
  tone: 'ok',
  state: '',
  versions: [],
});

describe('the time scale', () => {
  it('draws work in proportion', () => {
    const { position, gaps } = timeScale([step('run', 0, 4_000), step('run', 4_000, 10_000)], 10_000);
    expect([0, 4_000, 5_000, 10_000].map(position)).toEqual([0, 0.4, 0.5, 1]);
    expect(gaps).toEqual([]);
  });

  it('cuts a long wait short, so that the work beside it can be seen', () => {
    const hour = 3_600_000;
    const { position, gaps } = timeScale(
      [step('run', 0, 50_000), step('person', 50_000, hour), step('run', hour, hour + 50_000)],
      hour + 50_000,
    );
    expect(gaps).toEqual([{ from: 50_000, until: hour }]);
    // Twice 50 s of work, and 10 s for the wait.
    expect(position(50_000)).toBeCloseTo(50 / 110);
    expect(position(hour)).toBeCloseTo(60 / 110);
    expect(position((50_000 + hour) / 2)).toBeCloseTo(55 / 110);
    expect(position(hour + 50_000)).toBe(1);
  });

  it('goes on to now while a step is under way', () => {
    const { position, until } = timeScale([step('run', 0, null)], 8_000);
    expect(until).toBe(8_000);
    expect(position(2_000)).toBe(0.25);
  });

  it('shows a part of the session as long as the line, with the steps that are in it', () => {
    const steps = [step('run', 0, 100_000), step('tool', 10_000, 12_000), step('tool', 60_000, null)];
    const zoom = { from: 10_000, until: 12_000 };
    const { position } = timeScale(steps, 100_000, zoom);
    expect([0, 10_000, 11_000, 12_000, 90_000].map(position)).toEqual([0, 0, 0.5, 1, 1]);
    expect(stepsWithin(steps, zoom, 100_000).map(({ from }) => from)).toEqual([0, 10_000]);
    expect(stepsWithin(steps, { from: 70_000, until: 80_000 }, 100_000).map(({ from }) => from)).toEqual([
      0, 60_000,
    ]);
  });

  it('never leaves the line, whatever it is asked', () => {
    const { position } = timeScale([step('queue', 100, 200), step('attempt', 150, 160)], 200);
    expect([position(0), position(1_000_000)]).toEqual([0, 1]);
    expect(timeScale([], 5).position(5)).toBe(0);
    expect(timeScale([step('queue', 5, 5)], 5).position(5)).toBe(0);
  });
});
