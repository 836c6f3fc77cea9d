import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { readIfThere, writeWhole } from './kept-file.ts';
import { LaunchError } from './launch-error.ts';
import type { Layout } from './layout.ts';

/**
 * Kept ports come from below the range that Linux gives to outgoing connections (32768 and up): a port that such a
 * connection happens to hold could not be listened on again when the program restarts.
 */
const LOWEST = 20_000;
const HIGHEST = 32_000;
const TRIES = 200;

export type PortBook = (name: string, options?: { host?: string }) => Promise<number>;

/** Gives each name a free port and keeps it in the data directory; picks another when someone else has taken it. */
export function openPortBook(layout: Layout): PortBook {
  const path = join(layout.etc, 'ports.json');
  return async (name, { host = '127.0.0.1' } = {}) => {
    const before = readKept(path)[name];
    if (before !== undefined && (await isFree(before, host))) return before;
    const port = await pickFree(host, new Set(Object.values(readKept(path))));
    // Read again: another name may have been entered while this one was looking.
    writeWhole(path, `${JSON.stringify({ ...readKept(path), [name]: port }, null, 2)}\n`);
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

export async function pickFree(host: string, except: ReadonlySet<number> = new Set()): Promise<number> {
  for (let tried = 0; tried < TRIES; tried++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (!except.has(port) && (await isFree(port, host))) return port;
  }
  throw new LaunchError('PORT_TAKEN', `no free port between ${LOWEST} and ${HIGHEST} on ${host}`);
}

export async function isFree(port: number, host: string): Promise<boolean> {
  return (await tryListen(port, host)) === null;
}

/** The reason why this port cannot be listened on, in words; null when it can. */
export async function whyNotListen(port: number, host: string): Promise<string | null> {
  const code = await tryListen(port, host);
  if (code === null) return null;
  if (code === 'EADDRINUSE') return 'is taken';
  if (code === 'EACCES') return 'needs more rights';
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return 'is on no interface of this machine';
  return `cannot be listened on (${code})`;
}

function tryListen(port: number, host: string): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
