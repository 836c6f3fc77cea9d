import type { Step } from './step.ts';

/** A stretch in which nothing worked, drawn shorter than it was. */
export interface Gap {
  readonly from: number;
  readonly until: number;
}

export interface TimeScale {
  /** From 0 (the beginning) to 1 (the end). */
  readonly position: (at: number) => number;
  readonly gaps: readonly Gap[];
  readonly from: number;
  readonly until: number;
}

/** Waiting for a person can take hours, a model call seconds. Each wait gets at most this share of the time of work. */
const GAP_SHARE = 0.1;
/** Shorter waits are drawn as they are. */
const SHORTEST_GAP_MS = 2_000;

/** Steps that are work. The others are waiting, or go on beside it. */
const WORK = new Set<Step['kind']>(['run', 'model', 'tool', 'attempt', 'status']);

/** A part of the session that is looked at. */
export interface Zoom {
  readonly from: number;
  readonly until: number;
}

/** The steps that have a part in it. */
export function stepsWithin(steps: readonly Step[], zoom: Zoom, now: number): readonly Step[] {
  return steps.filter((step) => step.from <= zoom.until && (step.until ?? now) >= zoom.from);
}

/** Where on a line each moment of a session is. Time of work is drawn in proportion; long waits between are cut short. */
export function timeScale(steps: readonly Step[], now: number, zoom: Zoom | null = null): TimeScale {
  const end = (step: Step) => step.until ?? Math.max(now, step.from);
  const from =
    zoom?.from ?? steps.reduce((least, step) => Math.min(least, step.from), Number.POSITIVE_INFINITY);
  const until = zoom?.until ?? steps.reduce((most, step) => Math.max(most, end(step)), from);
  if (!Number.isFinite(from) || until <= from) return { position: () => 0, gaps: [], from, until };
  const work = merged(
    steps
      .filter(({ kind }) => WORK.has(kind))
      .map((step): Interval => [Math.max(from, step.from), Math.min(until, end(step))])
      .filter(([a, b]) => b >= a),
  );
  const idle = complement(work, from, until);
  const worked = work.reduce((sum, [a, b]) => sum + (b - a), 0);
  const most = Math.max(SHORTEST_GAP_MS, worked * GAP_SHARE);
  const gaps = worked === 0 ? [] : idle.filter(([a, b]) => b - a > most);
  const saved = gaps.reduce((sum, [a, b]) => sum + (b - a) - most, 0);
  const total = until - from - saved;
  const position = (at: number): number => {
    const moment = Math.min(Math.max(at, from), until);
    let drawn = moment - from;
    for (const [a, b] of gaps) {
      if (moment <= a) break;
      const inside = Math.min(moment, b) - a;
      drawn -= inside - (inside / (b - a)) * most;
    }
    return Math.min(1, Math.max(0, drawn / total));
  };
  return { position, gaps: gaps.map(([a, b]) => ({ from: a, until: b })), from, until };
}

type Interval = readonly [from: number, until: number];

function merged(intervals: readonly Interval[]): readonly Interval[] {
  const result: [number, number][] = [];
  for (const [from, until] of intervals.toSorted((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], until);
    else result.push([from, until]);
  }
  return result;
}

function complement(intervals: readonly Interval[], from: number, until: number): readonly Interval[] {
  const result: Interval[] = [];
  let at = from;
  for (const [a, b] of intervals) {
    if (a > at) result.push([at, a]);
    at = Math.max(at, b);
  }
  if (until > at) result.push([at, until]);
  return result;
}
