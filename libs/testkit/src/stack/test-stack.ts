import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { bannerOf, identityOf, type Stack, type StackOptions, startStack, TEST_STACKS } from '@angelia/local';
import { eventually } from '../waiting/eventually.ts';
import { type PostAnswer, type SignedPost, signedPost } from './signed-post.ts';
import { TEST_SECRET } from './test-config.ts';

export interface TestStackOptions {
  /** YAML text, see testConfig. Written to `angelia.yaml` in the data directory. Null: the file is there already. */
  readonly config: string | null;
  /** An existing directory, which stays after `stop`. Default: a new one, which does not. */
  readonly dataDir?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** As ANGELIA_REPLICAS, e.g. `agent-runner=2`. */
  readonly replicas?: string;
  /** True: Postgres with fsync, as in production. */
  readonly durable?: boolean;
  /** Same as the option of the launcher. */
  readonly envOf?: StackOptions['envOf'];
  /** Receives the messages of the launcher, such as that a program ended. */
  readonly say?: (line: string) => void;
}

interface SessionView {
  readonly id: string;
  readonly status: 'queued' | 'running' | 'waiting' | 'ended';
  readonly outcome: string | null;
  readonly end_reason: string | null;
  readonly generation: number;
  readonly version: number;
  readonly trace_id: string;
  readonly deliveries: { readonly pending: number; readonly delivered: number; readonly dead: number };
  readonly [more: string]: unknown;
}

export interface EventView {
  readonly version: number;
  readonly type: string;
  readonly recorded_at: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>>;
}

/** Six programs start from a cold page cache on a busy machine. */
const READY_TIMEOUT_MS = 90_000;
const LOG_TAIL_BYTES = 6_000;

/**
 * The whole system as a user runs it: the code of the launcher, with its own data directory and ports, and the four compiled
 * services as processes. Everything else goes through the public interface (HTTP, pid files, log files).
 */
export class TestStack {
  readonly #stack: Stack;
  readonly #keepsData: boolean;
  readonly #frozen = new Set<number>();
  /** Which process a pid was when it got a signal: pids are reused. */
  readonly #signalled = new Map<number, string | null>();

  private constructor(stack: Stack, keepsData: boolean) {
    this.#stack = stack;
    this.#keepsData = keepsData;
  }

  static async start(options: TestStackOptions): Promise<TestStack> {
    const keepsData = options.dataDir !== undefined;
    const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), TEST_STACKS)));
    const config = join(dataDir, 'angelia.yaml');
    // process-watcher refuses a config that commands can read.
    if (options.config !== null) await writeFile(config, options.config, { mode: 0o600 });
    try {
      const stack = await startStack({
        dataDir,
        config,
        port: 0,
        // There is no power failure here, and a killed Postgres loses nothing without fsync.
        durable: options.durable ?? false,
        preparedCluster: process.env.ANGELIA_TEST_CLUSTER,
        readyWithinMs: READY_TIMEOUT_MS,
        env: { ANGELIA_ADMIN_TOKEN: 'test-admin-token', ANGELIA_DRAIN_SECONDS: '5', ...options.env },
        ...(options.replicas === undefined ? {} : { replicas: options.replicas }),
        ...(options.envOf === undefined ? {} : { envOf: options.envOf }),
        ...(options.say === undefined ? {} : { say: options.say }),
      });
      return new TestStack(stack, keepsData);
    } catch (error) {
      await printLogs(dataDir);
      if (!keepsData) await rm(dataDir, { recursive: true, force: true });
      throw error;
    }
  }

  /** URL of ingress. */
  get baseUrl(): string {
    return this.#stack.url;
  }

  /** URLs of every ingress, as a load balancer would know them. */
  get baseUrls(): readonly string[] {
    return this.#stack.urls;
  }

  get dataDir(): string {
    return this.#stack.dataDir;
  }

  get postgresUrl(): string {
    return this.#stack.databaseUrl;
  }

  get natsUrl(): string {
    return this.#stack.natsUrl;
  }

  get adminToken(): string {
    return this.#stack.adminToken;
  }

  /** Posts to a route of the test config, signed. */
  post(
    post: Omit<SignedPost, 'baseUrl' | 'route' | 'secret'> & {
      baseUrl?: string;
      route?: string;
      secret?: string;
    },
  ): Promise<PostAnswer> {
    return signedPost({ route: 'hook', secret: TEST_SECRET, baseUrl: this.baseUrl, ...post });
  }

  async adminGet<T = Record<string, unknown>>(path: string): Promise<T> {
    const response = await fetch(new URL(path, this.baseUrl), {
      headers: { authorization: `Bearer ${this.adminToken}` },
    });
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  session(id: string): Promise<SessionView> {
    return this.adminGet<SessionView>(`/v1/sessions/${id}`);
  }

  async events(id: string): Promise<EventView[]> {
    return (await this.adminGet<{ items: EventView[] }>(`/v1/sessions/${id}/events`)).items;
  }

  /** Waits for the end of the session. With `settled`, also until nothing is left to deliver. */
  waitForEnd(id: string, options: { settled?: boolean } = {}): Promise<SessionView> {
    let last: SessionView | undefined;
    return eventually(
      async () => {
        last = await this.session(id);
        return last.status === 'ended' && (!options.settled || last.deliveries.pending === 0) && last;
      },
      {
        describe: () => `session ${id} ended: ${JSON.stringify(last)}`,
      },
    );
  }

  /** The pid of a program from its pid file: `agent-runner`, `agent-runner-2`, `postgres`, `nats` ... */
  pid(name: string): number {
    return Number(readFileSync(join(this.dataDir, 'run', `${name}.pid`), 'utf8'));
  }

  /** Signals a program and returns its pid. The launcher starts it again. */
  kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): number {
    const pid = this.pid(name);
    this.#signalled.set(pid, identityOf(pid));
    process.kill(pid, signal);
    return pid;
  }

  /** After `kill`: waits until the launcher has started the program again, and returns the new pid, which may be the same number. */
  restarted(name: string, killedPid: number): Promise<number> {
    const killed = this.#signalled.get(killedPid);
    const now = () => (existsSync(join(this.dataDir, 'run', `${name}.pid`)) ? this.pid(name) : null);
    return eventually(
      () => {
        const pid = now();
        if (pid === null) return false;
        const identity = identityOf(pid);
        return identity !== null && (pid !== killedPid || identity !== killed) && pid;
      },
      {
        describe: () =>
          `${name} is running again: its pid file says ${now()}; killed was ${killed}, and is now ${stateOf(killedPid)}`,
      },
    );
  }

  freeze(name: string): void {
    this.#frozen.add(this.kill(name, 'SIGSTOP'));
  }

  thaw(name: string): void {
    this.#frozen.delete(this.kill(name, 'SIGCONT'));
  }

  /** For programs that a failed test left frozen. */
  thawAll(): void {
    for (const pid of this.#frozen) if (isAlive(pid)) process.kill(pid, 'SIGCONT');
    this.#frozen.clear();
  }

  /** What `npm start` would print, with a new link to the console. */
  banner(): Promise<string> {
    return bannerOf(this.#stack, Date.now());
  }

  /** Stops a program gracefully and keeps it down until `resume`. */
  hold(name: string): Promise<void> {
    return this.#stack.hold(name);
  }

  resume(name: string): Promise<void> {
    return this.#stack.resume(name);
  }

  /** `/readyz` of a service (`agent-runner-2`) on its admin port. */
  async ready(name: string): Promise<boolean> {
    return (await this.readiness(name)).ready;
  }

  /** The same, with the text of the response. */
  async readiness(name: string): Promise<{ readonly ready: boolean; readonly said: string }> {
    const response = await fetch(`http://127.0.0.1:${this.#stack.adminPorts[name]}/readyz`);
    return { said: await response.text(), ready: response.status === 200 };
  }

  /** `/metrics` of a service (`agent-runner-2`) on its admin port. */
  async scrape(name: string): Promise<{ readonly type: string; readonly text: string }> {
    const response = await fetch(`http://127.0.0.1:${this.#stack.adminPorts[name]}/metrics`);
    if (response.status !== 200) throw new Error(`/metrics of ${name}: ${response.status}`);
    return { type: response.headers.get('content-type') ?? '', text: await response.text() };
  }

  /** Prints the ends of all logs, to explain a failure. */
  printLogs(): Promise<void> {
    return printLogs(this.dataDir);
  }

  /** Drains and stops everything, and removes its data unless the caller gave the directory. */
  async stop(): Promise<void> {
    this.thawAll();
    await this.#stack.stop();
    if (this.#keepsData) return;
    await rm(this.dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

export function startTestStack(options: TestStackOptions): Promise<TestStack> {
  return TestStack.start(options);
}

/** Runs a test on a stack, prints the logs if it fails, and always cleans up. */
export async function withTestStack(
  options: TestStackOptions,
  body: (stack: TestStack) => Promise<void>,
): Promise<void> {
  const stack = await TestStack.start(options);
  try {
    await body(stack);
  } catch (error) {
    await stack.printLogs();
    throw error;
  } finally {
    await stack.stop();
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function printLogs(dataDir: string): Promise<void> {
  const logs = join(dataDir, 'logs');
  const lines: string[] = [];
  for (const file of existsSync(logs) ? readdirSync(logs) : []) {
    const { size } = await stat(join(logs, file));
    const start = Math.max(0, size - LOG_TAIL_BYTES);
    lines.push(`--- ${file}\n${await text(createReadStream(join(logs, file), { start }))}`);
  }
  process.stderr.write(`${lines.join('\n')}\n`);
}

/** What the kernel says of a process, for the message of a test that waits for its end. */
function stateOf(pid: number): string {
  try {
    return `pid ${pid}: ${readFileSync(`/proc/${pid}/stat`, 'utf8')}`;
  } catch {
    return `pid ${pid}, which is gone`;
  }
}
