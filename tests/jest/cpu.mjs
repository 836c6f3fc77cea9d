// The CPU that a test file costs: its worker's, and that of the programs that the worker started and that have ended. What the
// shared Postgres and NATS do for it is not counted.

import { appendFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Linux counts in hundredths of a second, on every architecture. */
const TICKS_PER_SECOND = 100;

/** Of this process and of all that it waited for, since it began. */
export function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + endedProgramsSeconds();
}

function endedProgramsSeconds() {
  if (process.platform !== 'linux') return 0;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The name of the program may contain spaces and brackets. The fields after it begin with the third, the state.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

const kept = (root) => join(root, '.cache', 'test-cpu.txt');

export function forgetCpu(root) {
  rmSync(kept(root), { force: true });
}

/** One short write, so that workers do not mix their lines. */
export function keepCpuOfFile(root, path, seconds) {
  const file = kept(root);
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${seconds.toFixed(3)} ${relative(root, path)}\n`);
}

/** By file, as times.mjs wants it. */
export function cpuOfFiles(root) {
  try {
    const lines = readFileSync(kept(root), 'utf8').trimEnd().split('\n');
    return new Map(lines.map((line) => [line.slice(line.indexOf(' ') + 1), Number.parseFloat(line)]));
  } catch {
    return new Map();
  }
}
