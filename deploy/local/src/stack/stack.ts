import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ParentProcess } from '../../bootstrap/parent-processes.mjs';
import { withEnvFile } from '../data-directory/env-file.ts';
import { type LauncherLock, lockDataDirectory } from '../data-directory/launcher-lock.ts';
import { type Layout, makeLayout, repositoryRoot } from '../data-directory/layout.ts';
import { openPorts, type Ports, whyNotListen } from '../data-directory/ports.ts';
import { provideSecrets, type Secrets } from '../data-directory/secrets.ts';
import { LaunchError } from '../launch-error.ts';
import { renderLogLine } from '../programs/log-line.ts';
import { followLogs, keepShort, type LogTail, tailLog } from '../programs/log-tail.ts';
import { openRunningPrograms } from '../programs/running-programs.ts';
import { stopLeftovers } from '../programs/stop-leftovers.ts';
import { type Ended, EXIT_CONFIG, type Program, SupervisedProgram } from '../programs/supervised-program.ts';
import { prepareNats } from '../servers/nats.ts';
import { hasCluster, preparePostgres } from '../servers/postgres.ts';
import { isReady } from './readiness.ts';
import { runScript, userMessage } from './run-script.ts';
import { planServices, realScripts, type Scripts, type ServiceInstance } from './services.ts';
import { readSettings, type Settings } from './settings.ts';

export interface StackOptions {
  /** Instead of ANGELIA_DATA. */
  readonly dataDir?: string;
  /** Instead of ANGELIA_CONFIG. */
  readonly config?: string;
  /** Instead of ANGELIA_PORT; 0 means a free port. */
  readonly port?: number;
  /** Instead of ANGELIA_REPLICAS: `agent-runner=2`. */
  readonly replicas?: string;
  /** Added to the launcher's own environment, for the launcher and everything that it starts. */
  readonly env?: NodeJS.ProcessEnv;
  /** Added for one instance (`agent-runner-2`). Tests use it to put a failing network between it and the servers. */
  readonly envOf?: (instance: string, servers: Servers) => Promise<NodeJS.ProcessEnv>;
  /** False: Postgres runs without fsync. For tests. */
  readonly durable?: boolean;
  /**
   * A data directory whose cluster this build has migrated and whose Postgres is stopped. A stack without a cluster starts
   * from a copy of it, without `initdb` and without migrating. For tests.
   */
  readonly preparedCluster?: string;
  readonly scripts?: Scripts;
  /** True: each service listens for a debugger on loopback. Anybody who reaches that port controls the service. */
  readonly inspect?: boolean;
  /** Ends a start that is in progress. */
  readonly signal?: AbortSignal;
  /** Gives up if the stack is not ready by then. */
  readonly readyWithinMs?: number;
  /** Receives the launcher's own messages. By default they are dropped. */
  readonly say?: (line: string) => void;
  /** Receives the services' log lines, with a prefix and readable. By default the logs are not followed. */
  readonly show?: (line: string) => void;
  /** The processes between the user and this one, such as npm: when one is killed, the next launcher may replace us. */
  readonly parents?: ParentProcess[];
}

interface Servers {
  readonly databaseUrl: string;
  readonly natsUrl: string;
}

export interface Stack {
  /** The URL of the first ingress. */
  readonly url: string;
  readonly urls: readonly string[];
  readonly dataDir: string;
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly adminToken: string;
  readonly secrets: Secrets;
  readonly settings: Settings;
  /** By instance: `agent-runner`, `agent-runner-2`. */
  readonly adminPorts: Readonly<Record<string, number>>;
  /** The pid of the program itself, as in `run/<name>.pid`; null while it is down. */
  pidOf(name: string): number | null;
  /** Stops one program and keeps it down until `resume`. */
  hold(name: string): Promise<void>;
  resume(name: string): Promise<void>;
  /** Drains the services, then stops NATS, then Postgres. `hurry` cuts the drain short, also while it is in progress. */
  stop(options?: { hurry?: AbortSignal }): Promise<void>;
}

const LOG_SIZE_LOOK_MS = 10_000;
const READY_LOOK_MS = 40;
/** A start that takes longer than this reports what it waits for. */
const REPORT_MISSING_MS = 15_000;

/** Starts everything and returns when all services are ready. On any failure nothing is left running. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const starting = new StartingStack(options);
  try {
    return await starting.start();
  } catch (error) {
    await starting.stop({});
    throw error;
  }
}

class StartingStack {
  readonly #options: StackOptions;
  readonly #say: (line: string) => void;
  readonly #programs = new Map<string, SupervisedProgram>();
  readonly #tails: LogTail[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  #stopFollowing: () => void = () => {};
  /** A service refuses to start. While the stack starts, that ends the start. */
  readonly #refused = Promise.withResolvers<LaunchError>();
  /** What each service said when it last refused to start. */
  readonly #refusals = new Map<string, string>();
  #isReady = false;
  #services: readonly ServiceInstance[] = [];
  #lock: LauncherLock | null = null;
  #stopped: Promise<void> | null = null;
  readonly #hurry = new AbortController();

  constructor(options: StackOptions) {
    this.#options = options;
    this.#say = options.say ?? (() => {});
  }

  async start(): Promise<Stack> {
    const options = this.#options;
    const given = withoutNpm({ ...process.env, ...options.env, ...asEnvironment(options) });
    const withFile = withEnvFile(given, process.cwd());
    const settings = readSettings(withFile, process.cwd());
    const scripts = options.scripts ?? realScripts;

    const layout = await makeLayout(settings.dataDir);
    this.#lock = await lockDataDirectory(layout, { parents: options.parents, say: this.#say });
    await stopLeftovers(layout, this.#say);
    if (options.show) this.#stopFollowing = followLogs(layout.logs, this.#tails);
    const ports = openPorts(layout);
    const port = settings.port === 0 ? await ports('ingress', { host: settings.host }) : settings.port;
    await refuseTakenPort(port, settings.host);
    const secrets = provideSecrets(layout, withFile);
    const env = serviceEnvironment(given, settings, layout, secrets);

    await this.#checkConfig(scripts, env);
    this.#throwIfStopped();
    const [databaseUrl, natsUrl] = await bothSettled(
      this.#providePostgres(layout, ports, settings, scripts, env),
      this.#provideNats(layout, ports, settings),
    );
    this.#throwIfStopped();

    this.#services = await planServices({
      scripts,
      replicas: settings.replicas,
      ports,
      host: settings.host,
      port,
      env: { ...env, DATABASE_URL: databaseUrl, NATS_URL: natsUrl },
      decided: [
        'DATABASE_URL',
        'NATS_URL',
        'ANGELIA_HOST',
        ...(settings.port === 0 ? [] : ['ANGELIA_PORT']),
      ].filter((name) => !given[name]),
      envOf: async (instance) => (await options.envOf?.(instance, { databaseUrl, natsUrl })) ?? {},
      drainSeconds: settings.drainSeconds,
      inspect: options.inspect ?? false,
    });
    await Promise.all(this.#services.map(({ program }) => this.#startProgram(program, layout).start()));
    await this.#waitUntilReady();
    this.#isReady = true;
    for (const tail of this.#tails) tail.look(); // shows the first lines before the banner

    const urls = this.#services.map(({ publicUrl }) => publicUrl).filter((url) => url !== null);
    return {
      url: urls[0] ?? '',
      urls,
      dataDir: layout.dataDir,
      databaseUrl,
      natsUrl,
      adminToken: secrets.adminToken,
      secrets,
      settings,
      adminPorts: Object.fromEntries(this.#services.map((one) => [one.instance, one.adminPort])),
      pidOf: (name) => this.#programs.get(name)?.pid ?? null,
      hold: (name) => this.#program(name).stop(),
      resume: (name) => this.#program(name).start(),
      stop: (how) => this.stop(how ?? {}),
    };
  }

  async stop({ hurry }: { hurry?: AbortSignal }): Promise<void> {
    if (hurry?.aborted) this.#hurry.abort();
    hurry?.addEventListener('abort', () => this.#hurry.abort(), { once: true });
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  async #stopAll(): Promise<void> {
    this.#lock?.markStopping();
    const signal = this.#hurry.signal;
    const stop = (supervised: SupervisedProgram) => supervised.stop({ signal, hurry: signal.aborted });
    const services = [...this.#programs.values()].filter(({ program }) => !isServer(program.name));
    await Promise.all(services.map(stop));
    for (const name of ['nats', 'postgres']) {
      const server = this.#programs.get(name);
      if (server) await stop(server);
    }
    this.#stopFollowing();
    for (const timer of this.#timers) clearInterval(timer);
    for (const tail of this.#tails) tail.look();
    this.#lock?.release();
  }

  #throwIfStopped(): void {
    if (this.#options.signal?.aborted) throw new LaunchError('STOPPED', 'stopped while starting');
  }

  #program(name: string): SupervisedProgram {
    const supervised = this.#programs.get(name);
    if (supervised) return supervised;
    throw new LaunchError(
      'BAD_ENVIRONMENT',
      `there is no program "${name}": choose one of ${[...this.#programs.keys()].join(', ')}`,
    );
  }

  #startProgram(program: Program, layout: Layout): SupervisedProgram {
    const supervised = new SupervisedProgram(program, {
      layout,
      running: openRunningPrograms(layout),
      // A service that cannot start again must not take the others down, and starts when the reason is gone.
      retryRefused: () => this.#isReady,
      onEnded: (ended) => this.#onEnded(ended, layout),
    });
    this.#programs.set(program.name, supervised);
    const log = join(layout.logs, `${program.name}.log`);
    this.#timers.push(setInterval(() => keepShort(log), LOG_SIZE_LOOK_MS).unref());
    if (!isServer(program.name)) this.#follow(program.name, log);
    return supervised;
  }

  #follow(name: string, log: string): void {
    const { show } = this.#options;
    if (!show) return;
    const tail = tailLog(log, (line) => show(`${name.padEnd(15)} | ${renderLogLine(line)}`));
    this.#tails.push(tail);
  }

  #onEnded({ name, how, exitCode, restartInMs }: Ended, layout: Layout): void {
    if (exitCode === EXIT_CONFIG && !isServer(name)) {
      const said = userMessage(endOfFile(join(layout.logs, `${name}.log`)));
      this.#refused.resolve(new LaunchError('CONFIG_REFUSED', said));
      const isNews = this.#refusals.get(name) !== said;
      this.#refusals.set(name, said);
      if (restartInMs !== null && isNews) {
        this.#say(
          `${name} cannot start; the others keep running; trying again every ${restartInMs / 1000} s: ${said}`,
        );
      }
    } else if (restartInMs !== null) {
      this.#refusals.delete(name);
      this.#say(`${name} ended (${how}); starting it again in ${restartInMs / 1000} s`);
    }
  }

  async #checkConfig(scripts: Scripts, env: NodeJS.ProcessEnv): Promise<void> {
    const { exitCode, output } = await runScript(scripts.checkConfig, env, {
      args: ['--or-last-good'],
      onLine: (line) =>
        line.startsWith('warning: ') &&
        this.#say(
          `THE CONFIG FILE IS WRONG, starting with the last good one: ${line.slice('warning: '.length)}`,
        ),
    });
    if (exitCode !== 0) throw new LaunchError('CONFIG_REFUSED', userMessage(output));
  }

  async #providePostgres(
    layout: Layout,
    ports: Ports,
    settings: Settings,
    scripts: Scripts,
    env: NodeJS.ProcessEnv,
  ): Promise<string> {
    const { durable, preparedCluster } = this.#options;
    let url = settings.databaseUrl;
    let migrated = false;
    if (url === null) {
      migrated = preparedCluster !== undefined && !hasCluster(layout);
      const postgres = await preparePostgres(layout, ports, { durable, preparedCluster, say: this.#say });
      this.#throwIfStopped();
      const supervised = this.#startProgram(postgres.program, layout);
      await supervised.start();
      await this.#unlessStopped(postgres.waitUntilReady(() => supervised.pid));
      url = postgres.url;
    }
    if (migrated) return url;
    const { exitCode, output } = await runScript(
      scripts.migrate,
      { ...env, DATABASE_URL: url },
      {
        // A line `migrate: ...` is a progress report. The final message is in the output.
        onLine: (line) => line.startsWith('migrate: ') && this.#say(line),
        signal: this.#options.signal,
      },
    );
    this.#throwIfStopped();
    if (exitCode !== 0) throw new LaunchError('MIGRATION_FAILED', userMessage(output));
    return url;
  }

  async #provideNats(layout: Layout, ports: Ports, settings: Settings): Promise<string> {
    if (settings.natsUrl !== null) return settings.natsUrl;
    const nats = await prepareNats(layout, ports, { say: this.#say });
    this.#throwIfStopped();
    const supervised = this.#startProgram(nats.program, layout);
    await supervised.start();
    await this.#unlessStopped(nats.waitUntilReady(() => supervised.running));
    return nats.url;
  }

  async #waitUntilReady(): Promise<void> {
    const startedAt = performance.now();
    const giveUpAt = startedAt + (this.#options.readyWithinMs ?? Number.POSITIVE_INFINITY);
    let sayAt = startedAt + REPORT_MISSING_MS;
    let missing = this.#services;
    for (;;) {
      const ready = await this.#unlessStopped(
        Promise.all(missing.map(({ adminPort }) => isReady(adminPort))),
      );
      missing = missing.filter((_, index) => !ready[index]);
      if (missing.length === 0) return;
      const names = missing.map(({ instance }) => instance).join(', ');
      const now = performance.now();
      if (now > giveUpAt) throw new LaunchError('NOT_READY', `not ready in time: ${names}`);
      if (now > sayAt) {
        this.#say(`still waiting for ${names} (see logs/<name>.log in the data directory)`);
        sayAt = now + REPORT_MISSING_MS;
      }
      await pause(READY_LOOK_MS);
    }
  }

  /** The result of the work. Throws if the start is stopped or a service refuses its configuration meanwhile. */
  async #unlessStopped<T>(awaited: Promise<T>): Promise<T> {
    const { signal } = this.#options;
    const stopped = Promise.withResolvers<never>();
    const onAbort = () => stopped.reject(new LaunchError('STOPPED', 'stopped while starting'));
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort);
    const refused = this.#refused.promise.then((error) => {
      throw error;
    });
    try {
      return await Promise.race([awaited, stopped.promise, refused]);
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }
}

const isServer = (name: string): boolean => name === 'postgres' || name === 'nats';

/** Like Promise.all, but if one fails it also waits for the other: what that still starts must be stopped as well. */
async function bothSettled<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second]);
  return Promise.all([first, second]);
}

/** A caller's options stand for the environment variables of the same meaning, and override them. */
function asEnvironment({ dataDir, config, port, replicas }: StackOptions): NodeJS.ProcessEnv {
  return {
    ...(dataDir === undefined ? {} : { ANGELIA_DATA: dataDir }),
    ...(config === undefined ? {} : { ANGELIA_CONFIG: config }),
    ...(port === undefined ? {} : { ANGELIA_PORT: String(port) }),
    ...(replicas === undefined ? {} : { ANGELIA_REPLICAS: replicas }),
  };
}

/** Removes what `npm start` adds for its scripts: it is not meant for the services. */
function withoutNpm(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^npm_|^INIT_CWD$/.test(name)));
}

async function refuseTakenPort(port: number, host: string): Promise<void> {
  const why = await whyNotListen(port, host);
  if (why === null) return;
  throw new LaunchError(
    'PORT_TAKEN',
    `port ${port} of ${host} ${why}: set ANGELIA_PORT or ANGELIA_HOST to another`,
  );
}

function serviceEnvironment(
  given: NodeJS.ProcessEnv,
  settings: Settings,
  layout: Layout,
  secrets: Secrets,
): NodeJS.ProcessEnv {
  return {
    // Keeps the compiled code of the services' modules between starts, which saves each service some 0.2 s of CPU.
    NODE_COMPILE_CACHE: join(repositoryRoot, '.cache', 'node-compile'),
    ...given,
    ...(settings.config === null ? {} : { ANGELIA_CONFIG: settings.config }),
    ANGELIA_DATA: layout.dataDir,
    ANGELIA_DRAIN_SECONDS: String(settings.drainSeconds),
    ANGELIA_MASTER_KEY: secrets.masterKey,
    ANGELIA_ADMIN_TOKEN: secrets.adminToken,
    ANGELIA_DEMO_SECRET: secrets.demoSecret,
  };
}

/** Enough for the last lines of a log. */
const LOG_END_BYTES = 8 * 1024;

function endOfFile(path: string): string {
  if (!existsSync(path)) return '';
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(LOG_END_BYTES);
    const from = Math.max(0, fstatSync(file).size - LOG_END_BYTES);
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, LOG_END_BYTES, from));
  } finally {
    closeSync(file);
  }
}
