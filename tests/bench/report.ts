import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The baseline from the same run. */
  readonly floor?: { readonly name: string; readonly value: number };
  /** The target, and which side of it is good. */
  readonly goal?: { readonly value: number; readonly good: 'at least' | 'at most' };
}

const round = (value: number) =>
  Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(value < 1 ? 3 : 1);

export function met(figure: Figure): boolean | undefined {
  if (!figure.goal) return undefined;
  return figure.goal.good === 'at least'
    ? figure.value >= figure.goal.value
    : figure.value <= figure.goal.value;
}

export function table(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    `${round(figure.value)}${figure.unit ? ` ${figure.unit}` : ''}`,
    figure.floor ? `${figure.floor.name} ${round(figure.floor.value)}` : '',
    figure.goal ? `${figure.goal.good} ${figure.goal.value}` : '',
    met(figure) === undefined ? '' : met(figure) ? 'met' : 'MISSED',
  ]);
  const all = [['figure', 'value', 'measured against', 'goal', ''], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export async function writeJson(directory: string, figures: readonly Figure[]): Promise<string> {
  await mkdir(directory, { recursive: true });
  const path = join(directory, `bench-${new Date().toISOString().replaceAll(':', '-')}.json`);
  const results = figures.map((figure) => ({ ...figure, met: met(figure) ?? null }));
  await writeFile(path, `${JSON.stringify({ at: new Date().toISOString(), results }, null, 2)}\n`);
  return path;
}
