import { STREAM_NAME } from '@angelia/contracts';
import { pause } from '@angelia/waiting';
import type { ConsumerInfo, JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { freePort, NatsServer } from './nats-server.ts';

const SIZE = 3;
/** Three servers find each other and elect a leader, on a busy machine. */
const FORM_DEADLINE_MS = 30_000;
const LOOK_EVERY_MS = 50;

/** Three real nats-servers on loopback, joined by routes, each with its own store. */
export class NatsCluster {
  readonly servers: readonly NatsServer[];

  private constructor(servers: readonly NatsServer[]) {
    this.servers = servers;
  }

  /** Not running yet: call `start()`. */
  static async prepare(): Promise<NatsCluster> {
    const routePorts = await Promise.all(Array.from({ length: SIZE }, freePort));
    const servers = await Promise.all(
      routePorts.map((routePort, index) =>
        NatsServer.prepare({
          member: { name: `n${index + 1}`, cluster: 'test', routePort, routePorts },
        }),
      ),
    );
    return new NatsCluster(servers);
  }

  static async start(): Promise<NatsCluster> {
    const cluster = await NatsCluster.prepare();
    try {
      await cluster.start();
    } catch (error) {
      await cluster.dispose();
      throw error;
    }
    return cluster;
  }

  /** Returns when the cluster accepts streams. */
  async start(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.start()));
    await this.hasMetaLeader();
  }

  /** All servers, as a user writes it. */
  get url(): string {
    return this.servers.map(({ url }) => url).join(',');
  }

  /** n1, n2, n3. */
  member(name: string): NatsServer {
    const server = this.servers[Number(name.slice(1)) - 1];
    if (server === undefined) throw new Error(`there is no ${name}`);
    return server;
  }

  nameOf(server: NatsServer): string {
    return `n${this.servers.indexOf(server) + 1}`;
  }

  get running(): readonly NatsServer[] {
    return this.servers.filter(({ running }) => running);
  }

  /** Asks a running server. */
  asOperator<T>(act: (jsm: JetStreamManager) => Promise<T>): Promise<T> {
    const [any] = this.running;
    if (any === undefined) throw new Error('no server runs');
    return any.asOperator(act);
  }

  stream(): Promise<StreamInfo> {
    return this.asOperator((jsm) => jsm.streams.info(STREAM_NAME));
  }

  async consumers(): Promise<ConsumerInfo[]> {
    return this.asOperator(async (jsm) => {
      const found: ConsumerInfo[] = [];
      for await (const consumer of jsm.consumers.list(STREAM_NAME)) found.push(consumer);
      return found;
    });
  }

  /** Waits for the stream's leader and returns it. */
  async streamLeader(): Promise<NatsServer> {
    const leader = await this.#until(
      'a leader of the stream',
      async () => (await this.stream()).cluster?.leader,
    );
    return this.member(leader);
  }

  /** Waits until the cluster creates and changes streams again. */
  async hasMetaLeader(): Promise<void> {
    await this.#until('a meta leader', () =>
      this.asOperator(async (jsm) => {
        await jsm.getAccountInfo();
        return true;
      }),
    );
  }

  /** Waits until every replica has all that the leader has. */
  async inSync(): Promise<void> {
    await this.#until('all replicas in sync', async () => {
      const { cluster } = await this.stream();
      return cluster?.leader !== undefined && cluster.replicas?.every(({ current }) => current);
    });
  }

  async dispose(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.dispose()));
  }

  async #until<T>(what: string, look: () => Promise<T>): Promise<NonNullable<T>> {
    const end = performance.now() + FORM_DEADLINE_MS;
    let last: unknown;
    while (performance.now() < end) {
      try {
        const seen = await look();
        if (seen) return seen;
        last = seen;
      } catch (error) {
        last = error;
      }
      await pause(LOOK_EVERY_MS);
    }
    throw new Error(`the NATS cluster has not ${what}: ${last}`);
  }
}
