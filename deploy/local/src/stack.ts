import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { FrontProcess } from '../bootstrap/front.mjs';
import { openChildBook } from './child-book.ts';
import { clearLeftBehind } from './clear-left-behind.ts';
import { lineForTheUser, runScript } from './command.ts';
import { readSettings, type Settings } from './environment.ts';
import { LaunchError } from './launch-error.ts';
import { type LauncherLock, lockDataDirectory } from './launcher-lock.ts';
import { type Layout, makeLayout, repositoryRoot } from './layout.ts';
import { renderLogLine } from './log-line.ts';
import { keepShort, type LogTail, tailLog } from './log-tail.ts';
import { prepareNats } from './nats.ts';
import { openPortBook, type PortBook, whyNotListen } from './ports.ts';
import { hasCluster, preparePostgres } from './postgres.ts';
import { isReady } from './readiness.ts';
import { provideSecrets, type Secrets } from './secrets.ts';
import { planServices, realScripts, type Scripts, type ServiceInstance } from './services.ts';
import { type Ended, EXIT_CONFIG, type Program, Supervised } from './supervise.ts';

export interface StackOptions {
  /** Instead of ANGELIA_DATA. */
  readonly dataDir?: string;
  /** Instead of ANGELIA_CONFIG. */
  readonly config?: string;
  /** Instead of ANGELIA_PORT; 0 is a free one. */
  readonly port?: number;
  /** Instead of ANGELIA_REPLICAS: `agent-runner=2`. */
  readonly replicas?: string;
  /** Added to the launcher's own environment, for the launcher and for all that it starts. */
  readonly env?: NodeJS.ProcessEnv;
  /** More for one service, by instance (`agent-runner-2`). Tests put a network that fails between it and the servers. */
  readonly envOf?: (instance: string, servers: Servers) => Promise<NodeJS.ProcessEnv>;
  /** False: Postgres without fsync, for tests. */
  readonly durable?: boolean;
  /**
   * A data directory whose cluster this build has migrated, with its Postgres stopped. A stack without a cluster starts
   * from a copy, without `initdb` and without migrating. For tests.
   */
  readonly preparedCluster?: string;
  readonly scripts?: Scripts;
  /** True: each service listens for a debugger on loopback. Whoever reaches that port controls the service. */
  readonly inspect?: boolean;
  /** Ends a start that is under way. */
  readonly signal?: AbortSignal;
  /** Give up when not ready by then. */
  readonly readyWithinMs?: number;
  /** What the launcher says of itself. Default: nothing. */
  readonly say?: (line: string) => void;
  /** The services' log lines, prefixed and rendered. Default: not followed. */
  readonly show?: (line: string) => void;
  readonly front?: FrontProcess[];
}

export interface Servers {
  readonly databaseUrl: string;
  readonly natsUrl: string;
}

export interface Stack {
  /** Of the first ingress. */
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
  /** Of the program itself, as in `run/<name>.pid`; null while it is down. */
  pidOf(name: string): number | null;
  /** Stops one program and keeps it down, until `resume`. */
  hold(name: string): Promise<void>;
  resume(name: string): Promise<void>;
  /** Drains the services, then stops NATS, then Postgres. `hurry` (also while it drains) cuts the drain short. */
  stop(options?: { hurry?: AbortSignal }): Promise<void>;
  /** Fulfilled when a service says at a restart that its configuration is wrong: the stack should be stopped. */
  readonly failed: Promise<LaunchError>;
}

const LOOK_AT_LOGS_MS = 100;
const LOOK_AT_LOG_SIZE_MS = 10_000;
const LOOK_FOR_READY_MS = 40;
/** A start that takes longer than this says what it waits for. */
const SAY_WHAT_IS_MISSING_MS = 15_000;

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
  readonly #programs = new Map<string, Supervised>();
  readonly #tails: LogTail[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #failed = Promise.withResolvers<LaunchError>();
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
    const settings = readSettings(given, process.cwd());
    const scripts = options.scripts ?? realScripts;

    const layout = await makeLayout(settings.dataDir);
    this.#lock = await lockDataDirectory(layout, { front: options.front, say: this.#say });
    await clearLeftBehind(layout, this.#say);
    const ports = openPortBook(layout);
    const port = settings.port === 0 ? await ports('ingress', { host: settings.host }) : settings.port;
    await refuseTakenPort(port, settings.host);
    const secrets = provideSecrets(layout, given);
    const env = serviceEnvironment(given, settings, layout, secrets);

    await this.#checkConfig(scripts, env);
    this.#goOn();
    const [databaseUrl, natsUrl] = await bothSettled(
      this.#providePostgres(layout, ports, settings, scripts, env),
      this.#provideNats(layout, ports, settings),
    );
    this.#goOn();

    this.#services = await planServices({
      scripts,
      replicas: settings.replicas,
      ports,
      host: settings.host,
      port,
      env: { ...env, DATABASE_URL: databaseUrl, NATS_URL: natsUrl },
      envOf: async (instance) => (await options.envOf?.(instance, { databaseUrl, natsUrl })) ?? {},
      drainSeconds: settings.drainSeconds,
      inspect: options.inspect ?? false,
    });
    await Promise.all(this.#services.map(({ program }) => this.#startProgram(program, layout).start()));
    await this.#untilReady();
    for (const tail of this.#tails) tail.look(); // so that the first lines come before the banner

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
      failed: this.#failed.promise,
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
    const stop = (supervised: Supervised) => supervised.stop({ signal, hurry: signal.aborted });
    const services = [...this.#programs.values()].filter(({ program }) => !isServer(program.name));
    await Promise.all(services.map(stop));
    for (const name of ['nats', 'postgres']) {
      const server = this.#programs.get(name);
      if (server) await stop(server);
    }
    for (const timer of this.#timers) clearInterval(timer);
    for (const tail of this.#tails) tail.look();
    this.#lock?.release();
  }

  #goOn(): void {
    if (this.#options.signal?.aborted) throw new LaunchError('STOPPED', 'stopped while starting');
  }

  #program(name: string): Supervised {
    const supervised = this.#programs.get(name);
    if (supervised) return supervised;
    throw new LaunchError(
      'BAD_ENVIRONMENT',
      `there is no "${name}": ${[...this.#programs.keys()].join(', ')}`,
    );
  }

  #startProgram(program: Program, layout: Layout): Supervised {
    const supervised = new Supervised(program, {
      layout,
      book: openChildBook(layout),
      onEnded: (ended) => this.#onEnded(ended, layout),
    });
    this.#programs.set(program.name, supervised);
    const log = join(layout.logs, `${program.name}.log`);
    this.#timers.push(setInterval(() => keepShort(log), LOOK_AT_LOG_SIZE_MS).unref());
    if (!isServer(program.name)) this.#follow(program.name, log);
    return supervised;
  }

  #follow(name: string, log: string): void {
    const { show } = this.#options;
    if (!show) return;
    const tail = tailLog(log, (line) => show(`${name.padEnd(15)} | ${renderLogLine(line)}`));
    this.#tails.push(tail);
    this.#timers.push(setInterval(() => tail.look(), LOOK_AT_LOGS_MS).unref());
  }

  #onEnded({ name, how, exitCode, restartInMs }: Ended, layout: Layout): void {
    if (exitCode === EXIT_CONFIG && !isServer(name)) {
      const said = lineForTheUser(endOfFile(join(layout.logs, `${name}.log`)));
      this.#failed.resolve(new LaunchError('CONFIG_REFUSED', said));
    } else if (restartInMs !== null) {
      this.#say(`${name} ended (${how}); starting it again in ${restartInMs / 1000} s`);
    }
  }

  async #checkConfig(scripts: Scripts, env: NodeJS.ProcessEnv): Promise<void> {
    const { exitCode, output } = await runScript(scripts.checkConfig, env);
    if (exitCode !== 0) throw new LaunchError('CONFIG_REFUSED', lineForTheUser(output));
  }

  async #providePostgres(
    layout: Layout,
    ports: PortBook,
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
      this.#goOn();
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
        // `migrate: ...` is what it says while it waits; what it says in the end is in its output.
        onLine: (line) => line.startsWith('migrate: ') && this.#say(line),
        signal: this.#options.signal,
      },
    );
    this.#goOn();
    if (exitCode !== 0) throw new LaunchError('MIGRATION_FAILED', lineForTheUser(output));
    return url;
  }

  async #provideNats(layout: Layout, ports: PortBook, settings: Settings): Promise<string> {
    if (settings.natsUrl !== null) return settings.natsUrl;
    const nats = await prepareNats(layout, ports, { say: this.#say });
    this.#goOn();
    const supervised = this.#startProgram(nats.program, layout);
    await supervised.start();
    await this.#unlessStopped(nats.waitUntilReady(() => supervised.running));
    return nats.url;
  }

  async #untilReady(): Promise<void> {
    const startedAt = performance.now();
    const giveUpAt = startedAt + (this.#options.readyWithinMs ?? Number.POSITIVE_INFINITY);
    let sayAt = startedAt + SAY_WHAT_IS_MISSING_MS;
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
        sayAt = now + SAY_WHAT_IS_MISSING_MS;
      }
      await pause(LOOK_FOR_READY_MS);
    }
  }

  /** What the awaited says, unless the start is stopped or a service refuses its configuration meanwhile. */
  async #unlessStopped<T>(awaited: Promise<T>): Promise<T> {
    const { signal } = this.#options;
    const stopped = Promise.withResolvers<never>();
    const onAbort = () => stopped.reject(new LaunchError('STOPPED', 'stopped while starting'));
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort);
    const refused = this.#failed.promise.then((error) => {
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

/** Like Promise.all, but when one fails it waits for the other too: what that still starts must be stopped as well. */
async function bothSettled<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second]);
  return Promise.all([first, second]);
}

/** The options of a caller are the environment variables of the same meaning, and win over them. */
function asEnvironment({ dataDir, config, port, replicas }: StackOptions): NodeJS.ProcessEnv {
  return {
    ...(dataDir === undefined ? {} : { ANGELIA_DATA: dataDir }),
    ...(config === undefined ? {} : { ANGELIA_CONFIG: config }),
    ...(port === undefined ? {} : { ANGELIA_PORT: String(port) }),
    ...(replicas === undefined ? {} : { ANGELIA_REPLICAS: replicas }),
  };
}

/** What `npm start` says about itself to its scripts is no business of the services. */
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
    // Compiled code of the services' many modules, kept between starts: saves each of them some 0.2 s of CPU.
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

const LINE_AT_THE_END = 8 * 1024;

function endOfFile(path: string): string {
  if (!existsSync(path)) return '';
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(LINE_AT_THE_END);
    const from = Math.max(0, fstatSync(file).size - LINE_AT_THE_END);
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, LINE_AT_THE_END, from));
  } finally {
    closeSync(file);
  }
}
