import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { rebuildNow } from '@angelia/service-kit/maintenance';
import type { Figure } from '../report.ts';
import { fillLog } from './fill.ts';
import { type LongLog, openLongLog, viewsOf } from './long-log.ts';
import { type Operations, openWorkOf, operationsOf } from './operations.ts';
import { passAllReaders, pruneNothing, pruneOldest, vacuumAfterPruning } from './prune.ts';
import { sizesOf } from './sizes.ts';
import { recordTemplate } from './template.ts';
import { deadRowsBeforeVacuum, holdAutovacuum, leaveDeadRows, vacuum } from './vacuum.ts';

/** `fill` loads the machine and measures nothing. `rebuild` and `measure` want a quiet one. */
export const COST_STEPS = ['fill', 'rebuild', 'measure'] as const;
export type CostStep = (typeof COST_STEPS)[number];

export interface CostOptions {
  /** Where the two logs are between the steps. */
  readonly directory: string;
  readonly steps: ReadonlySet<CostStep>;
  readonly events: { readonly small: number; readonly large: number };
  readonly say: (line: string) => void;
}

/** Two logs that differ in nothing but their length. */
interface Logs {
  readonly small: LongLog;
  readonly large: LongLog;
}

const SAMPLES = 300;
/** A call takes tens of milliseconds. */
const FEW_SAMPLES = 15;
const SMALL_REBUILDS = 3;
const AT_MOST = { value: 1.3, good: 'at most' } as const;

/** What the work of the services costs in a long log, as a multiple of what it costs in a short one. */
export async function benchCost(options: CostOptions): Promise<Figure[]> {
  const { directory, steps, events, say } = options;
  const figures: Figure[] = [];
  const name = (what: string) =>
    `${what} at ${inWords(events.large)} events, of its cost at ${inWords(events.small)}`;
  const compared = (what: string, unit: 'ms' | 'us', small: number, large: number) =>
    figures.push({
      name: name(what),
      value: large / small,
      unit: '',
      floor: { name: `${unit} at ${inWords(events.small)}`, value: small * (unit === 'us' ? 1_000 : 1) },
      goal: AT_MOST,
    });

  if (steps.has('fill')) await makeEmpty(directory);
  else if (!existsSync(directory))
    throw new Error(`there is no filled log in ${directory}: run the step \`fill\` first`);
  const logs: Logs = {
    small: await openLongLog(join(directory, 'small')),
    large: await openLongLog(join(directory, 'large')),
  };
  try {
    if (steps.has('fill')) {
      say('recording sessions of a real stack');
      const template = await recordTemplate(directory);
      for (const which of ['small', 'large'] as const) {
        say(`filling a log with ${inWords(events[which])} events`);
        await fillLog(logs[which], template, { events: events[which] });
      }
    }
    if (steps.has('rebuild')) {
      say('rebuild of the views');
      const rebuilt = await rebuildBoth(logs);
      compared('rebuild of the views, per event,', 'us', rebuilt.small, rebuilt.large);
    }
    if (steps.has('measure')) {
      await measure(logs, compared, figures, say);
    }
    return figures;
  } finally {
    await logs.small.close();
    await logs.large.close();
  }
}

async function makeEmpty(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
}

type Compared = (what: string, unit: 'ms' | 'us', small: number, large: number) => void;

async function measure(
  logs: Logs,
  compared: Compared,
  figures: Figure[],
  say: (line: string) => void,
): Promise<void> {
  const both = [logs.small, logs.large];
  for (const long of both) await holdAutovacuum(long);

  const sizes = await sizesOf(logs.large);
  figures.push({
    name: 'a session in the log, with indexes',
    value: sizes.logBytesPerSession,
    unit: 'bytes',
  });
  figures.push({
    name: 'a session in the views, with indexes',
    value: sizes.viewBytesPerSession,
    unit: 'bytes',
  });
  for (const { name, isIndex, bytes } of sizes.relations.filter((relation) => relation.bytes > 1e6))
    figures.push({ name: `  ${isIndex ? 'index' : 'table'} ${name}`, value: bytes / 1e6, unit: 'MB' });

  say('append, fold, lists, readers of the tail');
  await compareAll(await operationsOf(logs.small), await operationsOf(logs.large), compared);

  say('open work, when autovacuum has just not come yet');
  const vacuumed: number[] = [];
  const openWork = [];
  for (const long of both) {
    const sessions = `${await viewsOf(long)}.sessions`;
    await vacuum(long, sessions);
    await leaveDeadRows(long, await deadRowsBeforeVacuum(long, sessions));
    openWork.push(await openWorkOf(long));
  }
  await compareAll(openWork[0] as Operations, openWork[1] as Operations, compared);
  for (const long of both) {
    const sessions = `${await viewsOf(long)}.sessions`;
    vacuumed.push((await vacuum(long, sessions)) / (await deadRowsBeforeVacuum(long, sessions)));
  }
  figures.push({
    name: 'vacuum of the view of sessions, per dead row',
    value: (vacuumed[1] ?? 0) * 1_000,
    unit: 'us',
    floor: { name: 'in the short log', value: (vacuumed[0] ?? 0) * 1_000 },
  });

  say('pruning, and the vacuum after it');
  for (const long of both) await passAllReaders(long);
  await compareAll(
    { 'a pass of pruning that finds nothing': () => pruneNothing(logs.small) },
    { 'a pass of pruning that finds nothing': () => pruneNothing(logs.large) },
    compared,
    FEW_SAMPLES,
  );
  const pruned = { small: await pruneOldest(logs.small), large: await pruneOldest(logs.large) };
  compared('pruning, per session,', 'us', pruned.small.perSession, pruned.large.perSession);
  figures.push({
    name: 'sessions pruned per second, with pauses',
    value: pruned.large.sessionsPerSecond,
    unit: '/s',
    floor: { name: 'in the short log', value: pruned.small.sessionsPerSecond },
  });
  const [small = 0, large = 0] = [await vacuumAfterPruning(logs.small), await vacuumAfterPruning(logs.large)];
  compared('vacuum after pruning, per session,', 'us', small, large);
}

/** Milliseconds per event. */
async function rebuildBoth({ small, large }: Logs): Promise<{ small: number; large: number }> {
  const rebuild = async (long: LongLog) => {
    const start = performance.now();
    const { events } = await rebuildNow(long.url);
    return (performance.now() - start) / events;
  };
  const times: number[] = [];
  for (let n = 0; n < SMALL_REBUILDS; n += 1) times.push(await rebuild(small));
  const result = { small: median(times), large: await rebuild(large) };
  // As autovacuum does soon after so many new rows.
  for (const long of [small, large]) await long.query('VACUUM (ANALYZE)');
  return result;
}

/** Small and large take turns, so that noise of the disk and of neighbours hits both. */
async function compareAll(
  small: Operations,
  large: Operations,
  compared: Compared,
  samples = SAMPLES,
): Promise<void> {
  for (const what of Object.keys(small)) {
    const times = { small: [] as number[], large: [] as number[] };
    for (let n = 0; n < samples; n += 1) {
      times.small.push(await timed(small[what]));
      times.large.push(await timed(large[what]));
    }
    compared(what, 'ms', median(times.small), median(times.large));
  }
}

async function timed(work: (() => Promise<unknown>) | undefined): Promise<number> {
  const start = performance.now();
  await work?.();
  return performance.now() - start;
}

/** So that a checkpoint or a slow disk does not distort the figure. */
function median(all: number[]): number {
  return all.sort((a, b) => a - b)[all.length >> 1] ?? 0;
}

function inWords(events: number): string {
  return events >= 1e6 ? `${events / 1e6} million` : `${events / 1e3} thousand`;
}
