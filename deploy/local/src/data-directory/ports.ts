import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { LaunchError } from '../launch-error.ts';
import { readIfThere, writeFileWhole } from './kept-file.ts';
import type { Layout } from './layout.ts';

/**
 * Kept ports are below the range that Linux uses for outgoing connections (32768 and up): if such a connection held the
 * port, the program could not listen on it again after a restart.
 */
const LOWEST = 20_000;
const HIGHEST = 31_999;
const TRIES = 200;

/**
 * Stacks that start at the same moment can pick the same port, because a port is free until its program listens. Whoever
 * starts many, as the tests do, gives each its own range.
 */
function range(): { lowest: number; highest: number } {
  const given = process.env.ANGELIA_LOCAL_PORTS;
  if (given === undefined) return { lowest: LOWEST, highest: HIGHEST };
  const [lowest = 0, highest = 0] = /^\d+-\d+$/.test(given) ? given.split('-').map(Number) : [];
  if (lowest > 0 && lowest <= highest && highest <= 65_535) return { lowest, highest };
  throw new LaunchError(
    'BAD_ENVIRONMENT',
    'ANGELIA_LOCAL_PORTS is not a range of ports: write it as 20000-31999',
  );
}

export type Ports = (name: string, options?: { host?: string }) => Promise<number>;

/** Gives each name a free port and keeps it in the data directory. Picks another one if somebody else took it. */
export function openPorts(layout: Layout): Ports {
  const path = join(layout.etc, 'ports.json');
  return async (name, { host = '127.0.0.1' } = {}) => {
    const before = readKept(path)[name];
    if (before !== undefined && (await isFree(before, host))) return before;
    const port = await pickFree(host, new Set(Object.values(readKept(path))));
    // Read again: another name may have got a port meanwhile.
    writeFileWhole(path, `${JSON.stringify({ ...readKept(path), [name]: port }, null, 2)}\n`);
    return port;
  };
}

function readKept(path: string): Record<string, number> {
  const text = readIfThere(path);
  if (text === null) return {};
  const parsed: unknown = JSON.parse(text);
  const entries = typeof parsed === 'object' && parsed !== null ? Object.entries(parsed) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, number] => Number.isInteger(entry[1])));
}

async function pickFree(host: string, except: ReadonlySet<number> = new Set()): Promise<number> {
  const { lowest, highest } = range();
  for (let tried = 0; tried < TRIES; tried++) {
    const port = randomInt(lowest, highest + 1);
    if (!except.has(port) && (await isFree(port, host))) return port;
  }
  throw new LaunchError('PORT_TAKEN', `no free port between ${lowest} and ${highest} on ${host}`);
}

async function isFree(port: number, host: string): Promise<boolean> {
  return (await tryListen(port, host)) === null;
}

/** Why nobody can listen on this port, in words; null if it is free. */
export async function whyNotListen(port: number, host: string): Promise<string | null> {
  const code = await tryListen(port, host);
  if (code === null) return null;
  if (code === 'EADDRINUSE') return 'is taken';
  if (code === 'EACCES') return 'needs more privileges';
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return 'is not an address of this machine';
  return `cannot be listened on (${code})`;
}

function tryListen(port: number, host: string): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
