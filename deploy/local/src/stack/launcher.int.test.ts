import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isAlive, Launched, pidIn } from '../testing/launched.ts';
import { waitUntil } from '../wait-until.ts';

const SIX = ['postgres', 'nats', 'ingress', 'agent-runner', 'delivery', 'process-watcher'];
const WAIT_MS = 120_000;

let parent: string;
let dataDir: string;
let launched: Launched[];
let others: ChildProcess[];

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'angelia-launcher-')); // mode 0700, like `mktemp -d`
  dataDir = join(parent, 'data');
  launched = [];
  others = [];
});

afterEach(async () => {
  for (const one of launched) if (one.exitCode === null) await one.stop();
  for (const one of others) one.kill('SIGKILL');
  await rm(parent, { recursive: true, force: true });
});

/** Uses a copy of the run's cluster: making one is most of the cost of a start. Two tests make their own (`FAKE_CLUSTER`). */
function launch(env: NodeJS.ProcessEnv = {}): Launched {
  const one = new Launched(dataDir, { FAKE_CLUSTER: process.env.ANGELIA_TEST_CLUSTER, ...env });
  launched.push(one);
  return one;
}

const pids = (): number[] => SIX.map((name) => pidIn(dataDir, name));
const noneAlive = (list: number[]) => waitUntil(() => !list.some(isAlive), WAIT_MS);

describe('a start', () => {
  it('runs every program and replica in a process group of its own and ends them all on SIGTERM, with exit code 0', async () => {
    const stack = await launch({ ANGELIA_REPLICAS: 'agent-runner=2,ingress=2' }).ready();
    const names = [...SIX, 'agent-runner-2', 'ingress-2'];
    const running = names.map((name) => stack.pid(name));
    expect(running.every(isAlive)).toBe(true);
    for (const pid of running) expect(await groupOf(pid)).toBe(pid);

    expect(await stack.stop()).toBe(0);
    expect(await noneAlive(running)).toBe(true);
    expect(names.map((name) => stack.pid(name))).toEqual(names.map(() => 0));
  });

  it('keeps ports, secrets and the cluster for the next start', async () => {
    await (await launch({ FAKE_CLUSTER: '' }).ready()).stop();
    const before = await kept();
    await launch().ready();
    expect(await kept()).toEqual(before);
  });

  it('starts neither Postgres nor NATS if both are given', async () => {
    await launch({ DATABASE_URL: 'postgres://elsewhere/x', NATS_URL: 'nats://elsewhere' }).ready();
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
    expect(pidIn(dataDir, 'nats')).toBe(0);
  });
});

describe('a start that fails', () => {
  it('says that the data directory is in use, and leaves the first stack alone, with secrets that only its user can read and a banner whose commands find it', async () => {
    const first = await launch().ready();
    const running = pids();
    for (const file of ['admin-token', 'etc/master-key', 'etc/postgres-password', 'etc/nats.conf']) {
      expect((await stat(join(dataDir, file))).mode & 0o077).toBe(0);
    }
    const { ingress } = JSON.parse(await readFile(join(dataDir, 'etc/ports.json'), 'utf8'));
    await first.says(`  hook  ANGELIA_DATA=${dataDir} ANGELIA_PORT=${ingress} ./angelia send hook`);

    const second = launch();
    expect(await second.exit()).toBe(1);
    expect(second.output).toContain(`already running on ${dataDir} (launcher pid ${first.child.pid})`);
    expect(second.output.trim().split('\n')).toHaveLength(1);
    expect(pids()).toEqual(running);
    expect(running.every(isAlive)).toBe(true);
  });

  it('says that the port is taken, and leaves nothing running', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    try {
      const stack = launch({ ANGELIA_PORT: String(port) });
      expect(await stack.exit()).toBe(1);
      expect(stack.output).toContain(`port ${port} of 127.0.0.1 is taken: set ANGELIA_PORT`);
      expect(stack.output.trim().split('\n')).toHaveLength(1);
      expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
    } finally {
      server.close();
    }
  });

  it('says what is wrong with the config before it starts anything', async () => {
    const stack = launch({ FAKE_BROKEN_CONFIG: 'routes.demo.promt (angelia.yaml:7): unknown key' });
    expect(await stack.exit()).toBe(1);
    expect(stack.output.trim()).toBe('angelia: routes.demo.promt (angelia.yaml:7): unknown key');
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
  });

  it('ends with the line of a service that refuses its configuration, and leaves nothing running', async () => {
    const stack = launch({ FAKE_REFUSES: 'delivery' });
    expect(await stack.exit()).toBe(1);
    expect(stack.output).toContain('angelia: routes.demo.agent (angelia.yaml): there is no agent "x"');
    expect(pids()).toEqual(SIX.map(() => 0));
  });
});

describe('a program that dies', () => {
  it('and then refuses to start leaves the others running, and comes back when the reason is gone', async () => {
    const refusal = join(dataDir, 'refuse');
    const stack = await launch({ FAKE_REFUSAL_FILE: refusal }).ready();
    const others = SIX.filter((name) => name !== 'delivery');
    const before = others.map((name) => stack.pid(name));
    await writeFile(refusal, '');
    process.kill(stack.pid('delivery'), 'SIGKILL');
    await stack.says(
      'delivery cannot start; the others keep running; trying again every 10 s: routes.demo.agent',
    );
    expect(others.map((name) => stack.pid(name))).toEqual(before);
    await rm(refusal);
    expect(await waitUntil(() => isAlive(stack.pid('delivery')), WAIT_MS)).toBe(true);
    expect(others.map((name) => stack.pid(name))).toEqual(before);
    expect(await stack.stop()).toBe(0);
  });

  it('is started again with its name and its port, whichever of the six it is', async () => {
    const stack = await launch().ready();
    const ports = await kept();
    for (const name of SIX) {
      const rest = SIX.filter((one) => one !== name);
      const before = stack.pid(name);
      const restBefore = rest.map((one) => stack.pid(one));
      process.kill(before, 'SIGKILL');
      const replaced = () => stack.pid(name) !== before && isAlive(stack.pid(name));
      expect(await waitUntil(replaced, WAIT_MS)).toBe(true);
      expect(rest.map((one) => stack.pid(one))).toEqual(restBefore);
    }
    expect(await waitUntil(postgresIsReady, WAIT_MS)).toBe(true);
    expect(await kept()).toEqual(ports);
  });
});

describe('a launcher that is killed with -9', () => {
  it('leaves programs that the next start replaces', async () => {
    const first = await launch().ready();
    const left = pids();
    const ports = await kept();
    first.child.kill('SIGKILL');
    await first.exit();
    expect(left.every(isAlive)).toBe(true);

    const second = await launch().ready();
    expect(second.output).toContain('stopping what an earlier launcher left running');
    expect(left.some(isAlive)).toBe(false);
    expect(pids().every(isAlive)).toBe(true);
    expect(await kept()).toEqual(ports);
  });

  it('leaves pid files, and a process that now has such a pid is not touched', async () => {
    const first = await launch().ready();
    const left = pids();
    first.child.kill('SIGKILL');
    await first.exit();
    const bystander = spawn('sleep', ['60']);
    others.push(bystander);
    const book = JSON.parse(await readFile(join(dataDir, 'run/children.json'), 'utf8'));
    const delivery = book.delivery.pid;
    book.delivery.pid = bystander.pid; // like a reused pid: the pid exists, but the identity differs
    await writeFile(join(dataDir, 'run/children.json'), JSON.stringify(book));

    await launch().ready();
    expect(isAlive(bystander.pid ?? 0)).toBe(true);
    process.kill(delivery, 'SIGKILL'); // this test made the launcher forget it
    expect(await noneAlive(left)).toBe(true);
  });

  it('may also lose its npm: then it notices, and the stack drains', async () => {
    const script = fileURLToPath(new URL('../testing/fake/launcher.ts', import.meta.url));
    const npm = spawn('sh', ['-c', `"$0" "$1" & echo $!; wait`, process.execPath, script], {
      env: { ...process.env, ANGELIA_DATA: dataDir, ANGELIA_PORT: '0', npm_lifecycle_event: 'start' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    others.push(npm);
    let output = '';
    npm.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    expect(await waitUntil(() => output.includes('Angelia is ready'), WAIT_MS)).toBe(true);
    const running = [Number(output.split('\n')[0]), ...pids()];
    expect(running.every(isAlive)).toBe(true);
    npm.kill('SIGKILL');

    const next = await launch().ready();
    expect(await noneAlive(running)).toBe(true);
    expect(next.output).not.toContain('already running');
  });
});

describe('everything killed with -9 at once', () => {
  it('is followed by a normal start, however often it happens', async () => {
    let stack = await launch({ FAKE_NOT_MIGRATE: 'yes' }).ready();
    const ports = await kept();
    for (let times = 0; times < 2; times++) {
      for (const pid of [stack.child.pid ?? 0, ...pids()]) process.kill(pid, 'SIGKILL');
      await stack.exit();
      stack = await launch({ FAKE_NOT_MIGRATE: 'yes' }).ready();
      expect(stack.output).not.toContain('postgres ended');
    }
    expect(await kept()).toEqual(ports);
  });
});

describe('Ctrl-C', () => {
  it('three times at once counts as one, and the drain continues', async () => {
    const stack = await launch({ FAKE_DRAIN_MS: '1500' }).ready();
    for (let times = 0; times < 3; times++) {
      stack.child.kill('SIGINT');
      await pause(50); // signals that are pending at the same time arrive as one
    }
    expect(await stack.exit()).toBe(0);
    expect(stack.output.match(/drained/g)).toHaveLength(4);
  });

  it('a second time cuts the drain short', async () => {
    const stack = await launch({ FAKE_DRAIN_MS: '600000', ANGELIA_DRAIN_SECONDS: '600' }).ready();
    const running = pids();
    stack.child.kill('SIGINT');
    await stack.says('| info  draining');
    const again = setInterval(() => stack.child.kill('SIGINT'), 300);
    const code = await stack.exit();
    clearInterval(again);
    expect(code).toBe(0);
    expect(await noneAlive(running)).toBe(true);
  });

  it('ends a start that waits for Postgres', async () => {
    const nowhere = 'postgres://nobody@127.0.0.1:1/none';
    const stack = launch({ FAKE_NOT_MIGRATE: 'yes', DATABASE_URL: nowhere, NATS_URL: 'nats://elsewhere' });
    await stack.says('angelia: migrate: waiting for Postgres (connect ECONNREFUSED 127.0.0.1:1)');
    stack.child.kill('SIGINT');
    expect(await stack.exit()).toBe(0);
  });

  it('during a start leaves nothing running', async () => {
    const stack = launch({ FAKE_NEVER_READY: 'yes' });
    await waitUntil(() => isAlive(pidIn(dataDir, 'delivery')), WAIT_MS);
    const running = pids();
    stack.child.kill('SIGINT');
    expect(await stack.exit()).toBe(0);
    expect(await noneAlive(running)).toBe(true);
  });
});

const asRoot = process.getuid?.() === 0 && process.platform === 'linux';
(asRoot ? describe : describe.skip)('as root', () => {
  it('runs Postgres as another user, even below a directory that only root may enter', async () => {
    expect((await stat(parent)).mode & 0o077).toBe(0);
    const stack = await launch({ FAKE_CLUSTER: '' }).ready();
    const status = await readFile(`/proc/${stack.pid('postgres')}/status`, 'utf8');
    expect(status).toMatch(/^Name:\s+postgres$/m);
    expect(status).not.toMatch(/^Uid:\s+0\s/m);
  });
});

async function kept(): Promise<Record<string, string>> {
  const files = [
    'etc/ports.json',
    'etc/master-key',
    'etc/postgres-password',
    'admin-token',
    'postgres/PG_VERSION',
  ];
  const contents = await Promise.all(files.map((file) => readFile(join(dataDir, file), 'utf8')));
  return Object.fromEntries(files.map((file, index) => [file, contents[index] ?? '']));
}

async function postgresIsReady(): Promise<boolean> {
  const lock = await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8').catch(() => '');
  return lock.split('\n')[7]?.trim() === 'ready';
}

async function groupOf(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return Number(fields[2]);
}
