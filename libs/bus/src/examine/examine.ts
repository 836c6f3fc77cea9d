import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { hasCapability, neededVersion } from '../connect/capabilities.ts';
import { parseServerUrl, type ServerAddress } from '../connect/server-url.ts';
import { consumerLag } from '../consume/consumer-lag.ts';
import { BusUnavailable, reasonOf } from '../errors.ts';
import { isNotEnabled } from '../jetstream-errors.ts';
import { infoOrNull, MAX_MESSAGE_BYTES, streamConfig } from '../stream/ensure-stream.ts';
import { probeServer } from './probe-server.ts';

/** What `angelia doctor` reads from NATS: facts only, no judgement. It changes nothing. */
export interface ExaminedBus {
  readonly version: string;
  /** We support this version. */
  readonly supported: boolean;
  readonly neededVersion: string;
  readonly maxPayloadBytes: number;
  /** The largest message that we publish. */
  readonly neededPayloadBytes: number;
  /** Null: JetStream is off, for the server or for this account. */
  readonly jetstream: ExaminedJetStream | null;
}

export interface ExaminedJetStream {
  /** File storage that the account has left. Null: only the server's own limit, which only its operator can read. */
  readonly storageLeftBytes: number | null;
  /** What the stream reserves, for all replicas together. */
  readonly neededStorageBytes: number;
  /** Null: no limit. */
  readonly streamsLeft: number | null;
  /** Null: there is no stream yet. */
  readonly stream: {
    readonly replicas: number;
    readonly messages: number;
    readonly bytes: number;
    /** In a cluster: the other servers of the stream that are away or behind. */
    readonly lagging: readonly string[];
  } | null;
  readonly consumers: readonly {
    readonly durable: string;
    /** Hints that were not handed out yet. */
    readonly pending: number;
    readonly unacked: number;
  }[];
}

interface ExamineBusOptions {
  readonly url: string;
  /** For connecting and for each answer. */
  readonly timeoutMs: number;
  readonly replicas: number;
}

/** @throws BusUrlInvalid; BusUnavailable if no server answers or it refuses the login */
export async function examineBus({ url, timeoutMs, replicas }: ExamineBusOptions): Promise<ExaminedBus> {
  const address = parseServerUrl(url);
  const servers = await answering(address, timeoutMs);
  try {
    const nc = await connect({
      servers,
      name: 'angelia-doctor',
      reconnect: false,
      timeout: timeoutMs,
      ...(address.tls ? { tls: {} } : {}),
      ...(address.credentials ?? {}),
    });
    try {
      const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: timeoutMs });
      const version = nc.info?.version ?? '';
      return {
        version,
        supported: hasCapability(version, 'angelia'),
        neededVersion: neededVersion('angelia'),
        maxPayloadBytes: nc.info?.max_payload ?? 0,
        neededPayloadBytes: MAX_MESSAGE_BYTES,
        jetstream: await readJetStream(jsm, replicas),
      };
    } finally {
      await nc.close();
    }
  } catch (error) {
    throw new BusUnavailable(reasonOf(error), { cause: error });
  }
}

/** The servers of a cluster that answer. One is enough. */
async function answering({ servers, tls }: ServerAddress, timeoutMs: number): Promise<string[]> {
  // With TLS a server may expect the handshake before it greets.
  if (tls) return servers;
  const problems = await Promise.all(servers.map((server) => probeServer(server, timeoutMs)));
  const good = servers.filter((_, index) => problems[index] === null);
  if (good.length > 0) return good;
  throw new BusUnavailable(servers.map((server, index) => `${server}: ${problems[index]}`).join(', '));
}

async function readJetStream(jsm: JetStreamManager, replicas: number): Promise<ExaminedJetStream | null> {
  let account: Awaited<ReturnType<JetStreamManager['getAccountInfo']>>;
  try {
    account = await jsm.getAccountInfo();
  } catch (error) {
    if (isNotEnabled(error)) return null;
    throw error;
  }
  const { limits } = account;
  const info = await infoOrNull(jsm);
  const lagging = (info?.cluster?.replicas ?? []).filter(({ current, offline }) => !current || offline);
  return {
    storageLeftBytes: limits.max_storage < 0 ? null : Math.max(0, limits.max_storage - account.storage),
    neededStorageBytes: streamConfig(replicas).max_bytes * replicas,
    streamsLeft: limits.max_streams < 0 ? null : Math.max(0, limits.max_streams - account.streams),
    stream:
      info === null
        ? null
        : {
            replicas: info.config.num_replicas,
            messages: info.state.messages,
            bytes: info.state.bytes,
            lagging: lagging.map(({ name }) => name),
          },
    consumers: info === null ? [] : await consumersOf(jsm),
  };
}

async function consumersOf(jsm: JetStreamManager): Promise<ExaminedJetStream['consumers']> {
  const lags = await consumerLag(jsm);
  return lags.map(({ durable, pending, ackPending }) => ({ durable, pending, unacked: ackPending }));
}
