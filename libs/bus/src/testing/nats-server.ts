import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { STREAM_NAME } from '@angelia/contracts';
import { pause } from '@angelia/waiting';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect as connectClient } from '@nats-io/transport-node';
import { parseServerUrl } from '../connect/server-url.ts';

const START_DEADLINE_MS = 15_000;

interface NatsServerOptions {
  /** False: JetStream is off. */
  readonly jetstream?: boolean;
  readonly token?: string;
  readonly user?: { readonly name: string; readonly password: string };
  /** For a member of a cluster: see nats-cluster.ts. */
  readonly member?: ClusterMember;
}

interface ClusterMember {
  /** The name of this server. JetStream knows its peers by it. */
  readonly name: string;
  readonly cluster: string;
  /** The port for routes from the other servers. */
  readonly routePort: number;
  /** The ports of all members. The server leaves out its own. */
  readonly routePorts: readonly number[];
}

/** A real nats-server for one test, on a free port with a store in a temporary directory, so that it can be broken. */
export class NatsServer {
  readonly port: number;
  readonly #store: string;
  #options: NatsServerOptions;
  #child: ChildProcess | null = null;

  /** Not running yet: call `start()`. */
  static async prepare(options: NatsServerOptions = {}): Promise<NatsServer> {
    const store = await mkdtemp(join(tmpdir(), 'angelia-nats-'));
    return new NatsServer(await freePort(), store, options);
  }

  static async start(options: NatsServerOptions = {}): Promise<NatsServer> {
    const server = await NatsServer.prepare(options);
    await server.start();
    return server;
  }

  private constructor(port: number, store: string, options: NatsServerOptions) {
    this.port = port;
    this.#store = store;
    this.#options = options;
  }

  /** With credentials, as a user writes it. */
  get url(): string {
    const { token, user } = this.#options;
    const credentials = token
      ? `${encodeURIComponent(token)}@`
      : user
        ? `${user.name}:${user.password}@`
        : '';
    return `nats://${credentials}127.0.0.1:${this.port}`;
  }

  get running(): boolean {
    return this.#child !== null;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('nats-server is not running');
    return pid;
  }

  /** Also after stop() and kill(): with the same port and what is left of the store. */
  async start(): Promise<void> {
    const { jetstream = true, token, user, member } = this.#options;
    // Set by tests/jest/setup.mjs, for a machine that has none in PATH.
    const binary = process.env.ANGELIA_TEST_NATS_SERVER ?? 'nats-server';
    const args = ['-a', '127.0.0.1', '-p', String(this.port)];
    if (jetstream) args.push('-js', '-sd', this.#store);
    if (token) args.push('--auth', token);
    if (user) args.push('--user', user.name, '--pass', user.password);
    if (member) {
      const at = (port: number) => `nats://127.0.0.1:${port}`;
      args.push('--name', member.name, '--cluster_name', member.cluster);
      args.push('--cluster', at(member.routePort), '--routes', member.routePorts.map(at).join(','));
    }
    const child = spawn(binary, args, { stdio: 'ignore' });
    const endWithUs = () => child.kill('SIGKILL');
    process.once('exit', endWithUs);
    child.once('exit', () => process.off('exit', endWithUs));
    await once(child, 'spawn');
    this.#child = child;
    await this.#answers(child);
  }

  /** A clean shutdown. */
  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  /** Like a crash. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Returns when it has really stopped: the signal may take a moment on another core. */
  freeze(): void {
    process.kill(this.pid, 'SIGSTOP');
    while (!/\) T /.test(readFileSync(`/proc/${this.pid}/stat`, 'utf8'))) {
      // It takes some microseconds, and there is nothing to wait for asynchronously.
    }
  }

  thaw(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Acts like an operator with the nats command line, on its own connection. */
  async asOperator<T>(act: (jsm: JetStreamManager) => Promise<T>): Promise<T> {
    const { servers, credentials } = parseServerUrl(this.url);
    const nc = await connectClient({ servers, ...credentials });
    try {
      return await act(await jetstreamManager(nc));
    } finally {
      await nc.close();
    }
  }

  /** Hints that a durable consumer has not settled: not handed out yet, or without a verdict. */
  unsettled(durable: string): Promise<number> {
    return this.asOperator(async (jsm) => {
      const info = await jsm.consumers.info(STREAM_NAME, durable);
      return info.num_ack_pending + info.num_pending;
    });
  }

  /** Starts again with JetStream on. */
  async mend(): Promise<void> {
    await this.stop();
    this.#options = { ...this.#options, jetstream: true };
    await this.start();
  }

  /** Deletes everything that JetStream has stored. */
  async wipe(): Promise<void> {
    await rm(this.#store, { recursive: true, force: true });
  }

  async dispose(): Promise<void> {
    await this.kill();
    await this.wipe();
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  async #answers(child: ChildProcess): Promise<void> {
    const end = performance.now() + START_DEADLINE_MS;
    while (performance.now() < end) {
      if (child.exitCode !== null)
        throw new Error(`nats-server ended with ${child.exitCode}: is the port taken?`);
      if (await saysInfo(this.port)) return;
      await pause(20);
    }
    throw new Error(`nats-server does not answer on port ${this.port}`);
  }
}

function saysInfo(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (value: boolean) => {
      socket.destroy();
      resolve(value);
    };
    socket.setTimeout(1_000, () => answer(false));
    socket.on('error', () => answer(false));
    socket.on('data', (data) => answer(data.toString().startsWith('INFO')));
  });
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
