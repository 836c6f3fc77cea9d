import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { waitUntil } from '../wait-until.ts';
import { startPostgres } from './postgres.ts';

type Running = Awaited<ReturnType<typeof startPostgres>>;

/** Generous, so that a slow machine does not make a test fail. */
const WAIT_MS = 120_000;

let dataDir: string;
let lockFile: string;
let running: Running | null;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'angelia-test-postgres-'));
  lockFile = join(dataDir, 'postgres', 'postmaster.pid');
  running = null;
});

afterEach(async () => {
  await running?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(): Promise<Running> {
  running = await startPostgres({
    dataDir,
    durable: false,
    preparedCluster: process.env.ANGELIA_TEST_CLUSTER,
  });
  return running;
}

/** The lock file that a killed server leaves, with this pid. */
async function leftLockFile(pid: number): Promise<string> {
  const first = await start();
  const [, ...rest] = (await readFile(lockFile, 'utf8')).split('\n');
  await first.stop();
  expect(existsSync(lockFile)).toBe(false);
  expect(rest[6]?.trim()).toBe('ready');
  return [pid, ...rest].join('\n');
}

const linux = process.platform === 'linux';
// On other systems Postgres handles its lock file alone.
(linux ? describe : describe.skip)('the lock file of a killed Postgres', () => {
  it('is not mistaken for that of the server that starts', async () => {
    // No process has this pid: it is above the kernel's highest.
    await writeFile(lockFile, await leftLockFile(2 ** 22 + 1));
    const { pid, url } = await start();
    // Ready means that the server answers and that the file is its own.
    expect((await readFile(lockFile, 'utf8')).split('\n')[0]).toBe(String(pid));
    expect(await firstAnswer(url)).toBe('R');
  });

  it('does not prevent the next start if its pid is a zombie', async () => {
    // A parent that never waits for its child, like the first process of a container that does not reap. The child ends
    // after its parent has stopped being a shell, which would wait for it.
    const parent = spawn('sh', ['-c', 'sleep 300 & echo $!; exec sleep 300'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const [text] = await once(parent.stdout, 'data');
      const zombie = Number(String(text));
      const stateOf = async () => (await readFile(`/proc/${zombie}/stat`, 'utf8')).split(') ')[1]?.[0];
      const program = () => readFile(`/proc/${parent.pid}/comm`, 'utf8');
      expect(await waitUntil(async () => (await program()) === 'sleep\n', WAIT_MS)).toBe(true);
      process.kill(zombie, 'SIGKILL');
      expect(await waitUntil(async () => (await stateOf()) === 'Z', WAIT_MS)).toBe(true);
      await writeFile(lockFile, await leftLockFile(zombie));
      expect(await firstAnswer((await start()).url)).toBe('R');
      expect(await stateOf()).toBe('Z');
    } finally {
      parent.kill('SIGKILL');
    }
  });

  it('does not prevent the next start if its pid belongs to another process now', async () => {
    const bystander = spawn('sleep', ['300']);
    try {
      await writeFile(lockFile, await leftLockFile(bystander.pid ?? 0));
      expect(await firstAnswer((await start()).url)).toBe('R');
      expect(bystander.exitCode).toBe(null);
    } finally {
      bystander.kill('SIGKILL');
    }
  });

  it('does not prevent the next start if it is empty', async () => {
    await leftLockFile(0);
    await writeFile(lockFile, '');
    expect(await firstAnswer((await start()).url)).toBe('R');
  });
});

it('a login that does not continue is cut off soon', async () => {
  const { url } = await start();
  expect(await waitUntil(await halfOpen(url), WAIT_MS)).toBe(true);
  // Postgres' default is a minute, in which some hundred of these keep everybody else out.
  const started = await readFile(join(dataDir, 'postgres', 'postmaster.opts'), 'utf8');
  expect(started).toContain('authentication_timeout=5s');
});

/** Begins a login. The answer R asks for the password, E is an error. */
async function beginLogin(url: string) {
  const { hostname, port, username, pathname } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const PROTOCOL = 196_608; // 3.0
  const pairs = Buffer.from(`user\0${username}\0database\0${pathname.slice(1)}\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(head.length + pairs.length, 0);
  head.writeInt32BE(PROTOCOL, 4);
  socket.write(Buffer.concat([head, pairs]));
  const [answer] = await once(socket, 'data');
  return { socket, answer: String(answer).slice(0, 1) };
}

async function firstAnswer(url: string): Promise<string> {
  const { socket, answer } = await beginLogin(url);
  socket.destroy();
  return answer;
}

async function halfOpen(url: string): Promise<() => boolean> {
  const { socket, answer } = await beginLogin(url);
  expect(answer).toBe('R');
  let closed = false;
  socket
    .on('error', () => {})
    .once('close', () => {
      closed = true;
    });
  socket.resume();
  return () => closed;
}
