import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { type Finding, fault, ok, skipped, warning } from './finding.ts';

/** The version that the services are built for and tested on. */
const NODE_MAJOR = 24;

export function nodeFindings(version: string): Finding[] {
  const major = Number(/^v?(\d+)\./.exec(version)?.[1] ?? 0);
  if (major >= NODE_MAJOR) return [ok('node', `Node ${version}`)];
  return [
    fault(
      'node',
      `Node ${version} is too old: the services need ${NODE_MAJOR} or newer`,
      `install Node ${NODE_MAJOR}, or use \`npm start\`, which brings its own`,
    ),
  ];
}

const MIB = 1024 * 1024;
/** JetStream's store (128 MiB), Postgres' log segments and command output need this. With less, something fails soon. */
const TOO_LITTLE_BYTES = 512 * MIB;
/** Enough for a day of a busy stack. */
const LITTLE_BYTES = 4096 * MIB;

export async function diskFindings(
  directory: string,
  freeBytes: (directory: string) => Promise<number> = freeOn,
): Promise<Finding[]> {
  if (!existsSync(directory)) return [skipped('disk', `there is no data directory ${directory}`)];
  const free = await freeBytes(directory);
  const what = `${Math.floor(free / MIB)} MiB free at ${directory}`;
  const todo = 'free some space, or move ANGELIA_DATA to a larger disk';
  if (free < TOO_LITTLE_BYTES) return [fault('disk', what, todo)];
  return [free < LITTLE_BYTES ? warning('disk', what, todo) : ok('disk', what)];
}

async function freeOn(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
