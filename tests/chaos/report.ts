import type { ChaosResult } from './run.ts';

/** Enough to see what is wrong. */
const MOST_LINES = 40;

/** Whether there was no violation, and everything was settled in time and could be pruned. */
export function isClean({ violations, settledAfterMs, leftAfterPruning }: ChaosResult): boolean {
  return violations.length === 0 && settledAfterMs !== null && leftAfterPruning === 0;
}

export function reportOf(seed: number, result: ChaosResult): string {
  const { figures, violations, history, settledAfterMs, leftAfterPruning } = result;
  const share = (count: number, all: number) =>
    `${count} of ${all} (${((100 * count) / Math.max(1, all)).toFixed(2)} %)`;
  const row = (name: string, value: string | number) => `  ${name.padEnd(12)} ${value}`;
  return [
    `chaos, seed ${seed}: ${isClean(result) ? 'clean' : `${violations.length} VIOLATIONS`}`,
    row('faults', `${history.faults.length}: ${kindsOf(result)}`),
    row('webhooks', `${figures.accepted} accepted of ${figures.posts}`),
    row(
      'sessions',
      `${figures.sessions}, with ${figures.finals} answers; ${figures.resumed} runs were resumed`,
    ),
    row('lost', share(figures.lost, figures.sessions)),
    row('doubled', share(figures.doubled, figures.finals)),
    row('marked', `${share(figures.marked, figures.finals)} came again and said so`),
    row('given up', `${share(figures.givenUp, figures.finals)}, each with an event that says why`),
    row(
      'late',
      `${share(figures.late, figures.finals)}; the slowest took ${(figures.slowestMs / 1000).toFixed(1)} s`,
    ),
    row(
      'settled',
      settledAfterMs === null
        ? 'NOT in time'
        : `${(settledAfterMs / 1000).toFixed(1)} s after the last fault`,
    ),
    row('pruned', leftAfterPruning === 0 ? 'to nothing' : `${leftAfterPruning} rows of the log are LEFT`),
    ...violations
      .slice(0, MOST_LINES)
      .map(
        ({ invariant, session, what }) => `  ${invariant}: ${session === null ? '' : `${session}: `}${what}`,
      ),
    ...(violations.length > MOST_LINES ? [`  ... and ${violations.length - MOST_LINES} more`] : []),
  ].join('\n');
}

function kindsOf({ history: { faults } }: ChaosResult): string {
  const counts = new Map<string, number>();
  for (const { fault } of faults) counts.set(fault.kind, (counts.get(fault.kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
}
