import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from '@angelia/waiting';
import type { Figure } from './report.ts';
import { type SessionsTarget, sessionsPerSecond } from './sessions.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
/** Long enough that pools have shrunk and memory is given back. */
const REST_MS = 60_000;
const BURST = { sessions: 2_000, inFlight: 64 };

interface IdleOptions {
  readonly dataDir: string;
  readonly config: string;
  readonly port: number;
  readonly target: Omit<SessionsTarget, 'url'>;
  readonly say: (line: string) => void;
}

/** A whole local stack as `npm start` runs it, a minute after its start and a minute after a burst. From the kernel. */
export async function benchIdle({ dataDir, config, port, target, say }: IdleOptions): Promise<Figure[]> {
  const url = `http://127.0.0.1:${port}`;
  // It replaces itself by the launcher, so its pid is the launcher's.
  const launcher = spawn(process.execPath, [join(REPOSITORY, 'deploy/local/start.mjs'), 'start'], {
    env: {
      ...process.env,
      ANGELIA_CONFIG: config,
      ANGELIA_DATA: dataDir,
      ANGELIA_HOST: '127.0.0.1',
      ANGELIA_PORT: String(port),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise((resolve) => launcher.once('exit', resolve));
  try {
    while (!(await isReady(url))) {
      if (launcher.exitCode !== null) throw new Error('the stack did not start');
      await pause(200);
    }
    say('a stack at rest: a minute after its start');
    await pause(REST_MS);
    const programs = () => programsOf(dataDir, launcher.pid ?? 0);
    const atStart = [...memoryFigures(programs(), 'at rest'), ...(await cpuFigures(programs, 'at rest'))];
    say('a stack at rest: a minute after a burst');
    await sessionsPerSecond({ ...target, url }, BURST);
    await pause(REST_MS);
    return [
      ...atStart,
      ...memoryFigures(programs(), 'after a burst'),
      ...(await cpuFigures(programs, 'after a burst')),
    ];
  } finally {
    launcher.kill('SIGTERM');
    await ended;
  }
}

interface Program {
  readonly name: string;
  readonly pids: readonly number[];
  /** Of resident memory, in megabytes. */
  readonly goal: number | null;
}

/** The programs of the stack by their pid files. A connection to Postgres is one of its children. */
function programsOf(dataDir: string, launcher: number): Program[] {
  const run = join(dataDir, 'run');
  const own = readdirSync(run)
    .filter((file) => file.endsWith('.pid'))
    .map((file) => ({
      name: file.slice(0, -'.pid'.length),
      pid: Number(readFileSync(join(run, file), 'utf8')),
    }));
  const postgres = own.find(({ name }) => name === 'postgres')?.pid ?? 0;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && statOf(Number(name))[1] === String(postgres))
    .map(Number);
  const isConnection = (pid: number) => readProc(pid, 'cmdline').includes('127.0.0.1(');
  return [
    { name: 'launcher', pids: [launcher], goal: 60 },
    ...own.map(({ name, pid }) => ({
      name,
      pids: [pid],
      goal: name === 'postgres' ? null : name === 'nats' ? 60 : 90,
    })),
    { name: CONNECTIONS, pids: children.filter(isConnection), goal: null },
    { name: 'postgres, its own workers', pids: children.filter((pid) => !isConnection(pid)), goal: null },
  ];
}

const CONNECTIONS = 'postgres, connections';

function memoryFigures(programs: readonly Program[], when: string): Figure[] {
  const figures: Figure[] = programs
    .filter(({ goal }) => goal !== null)
    .map(({ name, pids, goal }) => ({
      name: `${name} ${when}, RSS`,
      value: sum(pids.map((pid) => kilobytes(pid, 'Rss'))) / 1024,
      unit: 'MB',
      goal: { value: goal as number, good: 'at most' as const },
    }));
  figures.push({
    name: `whole stack ${when}, PSS`,
    value: sum(programs.flatMap(({ pids }) => pids).map((pid) => kilobytes(pid, 'Pss'))) / 1024,
    unit: 'MB',
    goal: { value: 400, good: 'at most' },
  });
  figures.push({
    name: `connections to Postgres ${when}`,
    value: programs.find(({ name }) => name === CONNECTIONS)?.pids.length ?? Number.NaN,
    unit: '',
    goal: { value: 12, good: 'at most' },
  });
  return figures;
}

async function cpuFigures(programs: () => Program[], when: string): Promise<Figure[]> {
  const watched = programs();
  const before = watched.map(({ pids }) => pids.map(cpuNanoseconds));
  const began = performance.now();
  await pause(REST_MS);
  const elapsed = (performance.now() - began) * 1e6;
  // A process that ended in between counts as if it had done nothing since `before`.
  const shares = watched.map(({ pids }, index) =>
    sum(pids.map((pid, nth) => Math.max(0, cpuNanoseconds(pid) - (before[index]?.[nth] ?? 0)))),
  );
  return [
    {
      name: `whole stack ${when}, CPU`,
      value: (sum(shares) / elapsed) * 100,
      unit: '% of a core',
      goal: { value: 1, good: 'at most' },
    },
    ...watched.map(({ name }, index) => ({
      name: `  ${name}`,
      value: ((shares[index] ?? 0) / elapsed) * 100,
      unit: '% of a core',
    })),
  ];
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`)).ok;
  } catch {
    return false;
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const kilobytes = (pid: number, field: 'Rss' | 'Pss'): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readProc(pid, 'smaps_rollup'))?.[1] ?? 0);

/** Of all threads. More exact than the ticks in /proc/<pid>/stat. */
function cpuNanoseconds(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return sum(threads.map((thread) => Number(readProc(pid, `task/${thread}/schedstat`).split(' ')[0])));
  } catch {
    return 0;
  }
}

/** The fields after the program's name, which may hold any character. */
const statOf = (pid: number): string[] =>
  readProc(pid, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ');

/** Empty if the process has ended. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
