import { pause, within } from '@angelia/waiting';
import { JetStreamApiError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';
import { BusUnavailable, BusUnusable, reasonOf } from '../errors.ts';
import { isNotEnabled } from '../jetstream-errors.ts';
import type { BusOptions, BusStatus } from '../types.ts';
import { hasCapability, neededVersion } from './capabilities.ts';
import { parseServerUrl, type ServerAddress } from './server-url.ts';

/** How long a server may take for the handshake, and for one answer of the JetStream API. A frozen server exceeds it. */
const CONNECT_TIMEOUT_MS = 3_000;
export const API_TIMEOUT_MS = 3_000;
/** Between tries. Short, because work stands still. Jittered, because all services lose the server at once. */
const RETRY_MS = 250;
/** Between tries of a server that cannot be used: somebody has to change it first. */
const UNUSABLE_RETRY_MS = 2_000;
/** A frozen server is given up after 10 to 15 s. If shorter, a machine under full load would look frozen. */
const PING_INTERVAL_MS = 5_000;
const PINGS_UNANSWERED = 2;
/** Closing must not wait for ever for a server that does not read. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Reasons that waiting does not remove. The log reports each of them. */
const NEEDS_A_PERSON = /authoriz|authentic|certificate|tls|jetstream|too old/i;

/** One connection, from handshake to loss. It never comes back: the next one is another LiveConnection. */
export interface LiveConnection {
  readonly nc: NatsConnection;
  readonly jsm: JetStreamManager;
  readonly serverVersion: string;
  readonly up: boolean;
  /** Resolves when `up` has become false. */
  readonly lost: Promise<void>;
}

/**
 * Connects for ever. States: *away* (tries every 250 ms), *unusable* (the server answers, but is too old or has no
 * JetStream; tries every 2 s), *live*. A lost connection leads to *away* and to a new connection. The library's own
 * reconnect is off, because it buffers publishes without bound while the server is away, hides which pull requests were
 * lost, and waits for a frozen socket to drain before it closes it.
 */
export class Connection {
  readonly #options: BusOptions;
  readonly #address: ServerAddress;
  readonly #closing = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #onConnected = new Set<(live: LiveConnection) => void>();
  readonly #loop: Promise<void>;
  #live: LiveConnection | null = null;
  #unusable: BusUnusable | null = null;
  #reported = '';

  constructor(options: BusOptions) {
    this.#options = options;
    this.#address = parseServerUrl(options.url);
    this.#loop = this.#run();
  }

  get live(): LiveConnection | null {
    return this.#live;
  }

  /** The connection. Throws BusUnusable or BusUnavailable if there is none. */
  required(): LiveConnection {
    if (this.#live !== null) return this.#live;
    throw this.#unusable ?? new BusUnavailable('NATS is unreachable; the bus reconnects by itself');
  }

  /** Why the server that answers cannot be used. */
  get unusable(): BusUnusable | null {
    return this.#unusable;
  }

  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Called with every new connection, before next() resolves for those who wait. */
  onConnected(listener: (live: LiveConnection) => void): void {
    this.#onConnected.add(listener);
  }

  /** The connection, as soon as there is one. Null if `signal` is aborted. */
  async next(signal: AbortSignal): Promise<LiveConnection | null> {
    while (this.#live === null && !signal.aborted && !this.closed) await this.#change(signal);
    return signal.aborted ? null : this.#live;
  }

  async whenReady(): Promise<void> {
    for (;;) {
      if (this.closed) throw new BusUnavailable('the bus is closed');
      if (this.#live !== null) return;
      if (this.#unusable !== null) throw this.#unusable;
      await this.#change(this.#closing.signal);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake();
    const live = this.#live;
    if (live !== null) {
      // A failure is as good as a success here: the connection is gone.
      await within(CLOSE_TIMEOUT_MS, live.nc.flush()).catch(() => {});
      await within(CLOSE_TIMEOUT_MS, closeQuietly(live.nc)).catch(() => {});
    }
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.closed) {
      let retryMs = RETRY_MS;
      try {
        const live = await this.#connect();
        await this.#hold(live);
      } catch (error) {
        this.#unusable = error instanceof BusUnusable ? error : null;
        if (this.#unusable !== null) retryMs = UNUSABLE_RETRY_MS;
        this.#report({ connected: false, reason: reasonOf(error) });
        this.#wake();
      }
      await pause(retryMs * (0.75 + Math.random() / 2), this.#closing.signal);
    }
  }

  async #connect(): Promise<MutableLiveConnection> {
    const nc = await connect(connectionOptions(this.#options.name, this.#address));
    try {
      const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: API_TIMEOUT_MS });
      const serverVersion = await refuseUnusable(nc, jsm);
      return { nc, jsm, serverVersion, up: true, lost: Promise.resolve() };
    } catch (error) {
      void closeQuietly(nc).catch(() => {});
      throw error;
    }
  }

  /** Resolves when the connection is lost. */
  async #hold(live: MutableLiveConnection): Promise<void> {
    const lost = Promise.withResolvers<string>();
    live.lost = lost.promise.then(() => {});
    void live.nc
      .closed()
      .then((error) => lost.resolve(error instanceof Error ? error.message : 'connection closed'));
    void this.#watch(live, lost.resolve);
    if (this.closed) lost.resolve('closed');
    else {
      this.#live = live;
      this.#unusable = null;
      this.#report({ connected: true, serverVersion: live.serverVersion });
      for (const listener of this.#onConnected) listener(live);
      this.#wake();
    }
    const reason = await lost.promise;
    live.up = false;
    this.#live = null;
    // Not awaited: on a stale connection the library waits for a socket to drain that nobody reads.
    void closeQuietly(live.nc).catch(() => {});
    if (!this.closed) this.#report({ connected: false, reason });
  }

  async #watch(live: LiveConnection, lost: (reason: string) => void): Promise<void> {
    for await (const status of live.nc.status()) {
      if (status.type === 'staleConnection') lost('the server does not answer');
      else if (status.type === 'disconnect') lost('connection lost');
      else if (status.type === 'error') {
        this.#options.logger.warn({ reason: status.error.message }, 'NATS reports an error');
      }
    }
  }

  /** Resolves at the next change of state. */
  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener('abort', done);
    });
  }

  #wake(): void {
    for (const done of [...this.#waiting]) done();
  }

  /** Once per change, not per try: lost, refused and timed out all mean away. */
  #report(status: BusStatus): void {
    const key = status.connected ? 'connected' : NEEDS_A_PERSON.test(status.reason) ? status.reason : 'away';
    if (key === this.#reported) return;
    this.#reported = key;
    const { logger } = this.#options;
    const servers = this.#address.servers.join(',');
    if (status.connected) logger.info({ servers, server_version: status.serverVersion }, 'NATS connected');
    else if (this.#unusable !== null) logger.error({ servers, reason: status.reason }, 'NATS cannot be used');
    else
      logger.warn({ servers, reason: status.reason }, 'NATS is unreachable; will try again until it is back');
    this.#options.onStatus?.(status);
  }
}

type MutableLiveConnection = { -readonly [key in keyof LiveConnection]: LiveConnection[key] };

function connectionOptions(name: string, address: ServerAddress): ConnectionOptions {
  return {
    servers: address.servers,
    name,
    reconnect: false,
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: PINGS_UNANSWERED,
    // A stack trace per request costs more than the request.
    noAsyncTraces: true,
    ...(address.tls ? { tls: {} } : {}),
    ...(address.credentials ?? {}),
  };
}

async function refuseUnusable(nc: NatsConnection, jsm: JetStreamManager): Promise<string> {
  const info = nc.info;
  if (info === undefined) throw new BusUnavailable('connection lost during the handshake');
  if (!hasCapability(info.version, 'angelia')) {
    throw new BusUnusable(
      `nats-server ${info.version} is too old: install ${neededVersion('angelia')} or newer and restart it`,
    );
  }
  try {
    await jsm.getAccountInfo();
  } catch (error) {
    if (!isNotEnabled(error)) throw error;
    const byAccount = error.cause instanceof JetStreamApiError;
    // The server says that it has JetStream, but JetStream does not answer yet: it is starting.
    if (!byAccount && info.jetstream === true) throw new BusUnavailable('JetStream does not answer yet');
    throw new BusUnusable(
      byAccount
        ? 'JetStream is off for this NATS account: enable it for the account in the server config'
        : 'JetStream is off: start nats-server with -js (and -sd <directory>)',
    );
  }
  return info.version;
}

/**
 * Closes a connection without a stack trace. nats-core keeps the caller's stack, which nobody reads. To resolve it, Node
 * would read the source maps of the bundle: 35 ms of CPU at every stop of a service.
 */
function closeQuietly(nc: NatsConnection): Promise<void> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return nc.close();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
