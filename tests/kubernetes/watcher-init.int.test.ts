import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pause } from '@angelia/waiting';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { repository } from './overlays.ts';

/**
 * A stand-in for the watcher: records its pid, starts one command at its first start, answers /healthz. These tests are about
 * the init, which needs nothing else of a watcher. (That pid 1 reaps needs a pid namespace: tested by hand, docs/kubernetes.md.)
 */
const WATCHER = `
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
const [, , directory, mode] = process.argv;
const first = !existsSync(directory + '/pids');
appendFileSync(directory + '/pids', process.pid + '\\n');
if (mode === 'refuses') process.exit(78);
if (first) {
  const command = spawn('sleep', ['600'], { cwd: directory, detached: true, stdio: 'ignore' });
  writeFileSync(directory + '/command', String(command.pid));
  command.unref();
}
process.on('SIGTERM', () => { appendFileSync(directory + '/drained', process.pid + '\\n'); process.exit(0); });
createServer((request, response) => response.end('ok')).listen(Number(process.env.ANGELIA_ADMIN_PORT), '127.0.0.1');
`;

let directory: string;
let init: ChildProcess;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'angelia-init-'));
  writeFileSync(join(directory, 'watcher.mjs'), WATCHER);
});

afterEach(async () => {
  if (init.exitCode === null && init.signalCode === null) {
    init.kill('SIGTERM');
    await once(init, 'exit');
  }
  // Also kills a watcher that a broken init left behind. It would keep the test run from ending.
  const left = [...pids(), ...lines('command').map(Number)].filter(isAlive);
  for (const pid of left) process.kill(pid, 'SIGKILL');
  rmSync(directory, { recursive: true });
});

describe('the init of the watcher’s container', () => {
  it('restarts a killed watcher, and its command goes on', async () => {
    await startInit();
    const command = number('command');
    for (const starts of [2, 3]) {
      await untilWell();
      process.kill(pids().at(-1) ?? 0, 'SIGKILL');
      await until(() => pids().length === starts);
    }
    expect(isAlive(command)).toBe(true);
    expect(init.exitCode).toBeNull();
  });

  it('restarts only the watcher on SIGHUP, after its drain', async () => {
    await startInit();
    await untilWell();
    init.kill('SIGHUP');
    await until(() => pids().length === 2);
    expect(lines('drained')).toEqual([String(pids()[0])]);
    expect(isAlive(number('command'))).toBe(true);
  });

  it('kills and restarts a watcher that no longer answers', async () => {
    await startInit();
    await untilWell();
    process.kill(pids()[0] ?? 0, 'SIGSTOP');
    await until(() => pids().length === 2);
    expect(isAlive(pids()[0] ?? 0)).toBe(false);
  });

  it('lets the watcher drain on SIGTERM, and ends with its exit code', async () => {
    await startInit();
    await untilWell();
    init.kill('SIGTERM');
    const [code] = await once(init, 'exit');
    expect(code).toBe(0);
    expect(lines('drained')).toEqual([String(pids()[0])]);
  });

  it('ends with the exit code of a watcher that never became healthy, so that the pod shows a wrong config', async () => {
    init = await spawnInit('refuses');
    const [code] = await once(init, 'exit');
    expect(code).toBe(78);
    expect(pids()).toHaveLength(1);
  });
});

async function spawnInit(mode: string): Promise<ChildProcess> {
  const script = join(repository, 'deploy', 'docker', 'watcher-init.sh');
  return spawn('/bin/bash', [script, process.execPath, join(directory, 'watcher.mjs'), directory, mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      ANGELIA_ADMIN_PORT: String(await freePort()),
      ANGELIA_INIT_LOOK_SECONDS: '0.1',
      ANGELIA_INIT_ANSWER_SECONDS: '0.3',
    },
  });
}

let said = '';
async function startInit(): Promise<void> {
  said = '';
  init = await spawnInit('works');
  init.stdout?.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  await until(() => existsSync(join(directory, 'command')));
}

/** Waits until the init has had an answer. Only then does it restart a watcher. */
async function untilWell(): Promise<void> {
  await until(() => said.split('"the watcher answers"').length > pids().length);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function lines(name: string): string[] {
  const file = join(directory, name);
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

const pids = (): number[] => lines('pids').map(Number);
const number = (name: string): number => Number(readFileSync(join(directory, name), 'utf8'));

/**
 * A pid is used again within seconds when a whole test run starts programs, and whoever has it then must not be taken for ours:
 * `afterEach` would kill a program of another test.
 */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (!existsSync('/proc/self/stat')) return true;
    return (
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(directory) ||
      readlinkSync(`/proc/${pid}/cwd`) === directory
    );
  } catch {
    return false;
  }
}

const DEADLINE_MS = 20_000;
async function until(condition: () => boolean): Promise<void> {
  for (const end = performance.now() + DEADLINE_MS; !condition(); ) {
    if (performance.now() > end) throw new Error(`not within ${DEADLINE_MS} ms; output of the init: ${said}`);
    await pause(20);
  }
}
