import { STREAM_NAME, STREAM_SUBJECTS } from '@angelia/contracts';
import { pause } from '@angelia/waiting';
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { BusUnavailable, BusUnusable, isBusError, reasonOf } from '../errors.ts';
import { isStreamNotFound } from '../jetstream-errors.ts';

/** An older hint is of no use: the sweep has hinted again long before. Too short only costs a sweep. */
const MAX_AGE_MS = 60 * 60 * 1000;
/**
 * Some 350,000 hints. At the cap the oldest are dropped, and the sweep makes up for them. JetStream reserves it on disk at
 * once, and each stored hint also costs the server 0.5 KB of memory (measured on 2.9.10: every hint has its own subject),
 * so the cap holds nats-server at some 200 MB.
 */
const MAX_BYTES = 128 * 1024 * 1024;
/**
 * Longer than a relay's failover (10 s), after which the next relay publishes again from the last checkpoint. The server
 * keeps each id in memory for this long. Duplicates are harmless, so shorter is safe.
 */
const DUPLICATE_WINDOW_MS = 20_000;
/** A hint has some 200 bytes. A much larger message is not ours. */
export const MAX_MESSAGE_BYTES = 16 * 1024;

export function streamConfig(replicas: number) {
  return {
    subjects: [...STREAM_SUBJECTS],
    max_age: nanos(MAX_AGE_MS),
    max_bytes: MAX_BYTES,
    max_msg_size: MAX_MESSAGE_BYTES,
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    discard: DiscardPolicy.Old,
    num_replicas: replicas,
  } satisfies Partial<StreamConfig>;
}

/** Identifies one life of the stream: a stream that was deleted and recreated has another `createdAt`. */
interface StreamSeen {
  readonly createdAt: string;
  /** This call found no stream. */
  readonly created: boolean;
}

/**
 * A 2.9 server answers that a stream is deleted before it has removed its directory. A stream that is made again at once
 * loses its files to that removal: it acks hints and never hands any out (seen in one of six deletions). So a stream that
 * was there before is made again only after this long.
 */
const REMAKE_AFTER_MS = 1_000;

/**
 * Creates the stream, or brings its limits up to date. Safe when several services do it at the same time. `known`: this
 * process has seen the stream before.
 */
export async function ensureStream(
  jsm: JetStreamManager,
  replicas: number,
  known: boolean,
): Promise<StreamSeen> {
  const wanted = streamConfig(replicas);
  try {
    let info = await infoOrNull(jsm);
    if (info === null && known) {
      await pause(REMAKE_AFTER_MS);
      info = await infoOrNull(jsm);
    }
    if (info === null) {
      const made = await jsm.streams.add({
        name: STREAM_NAME,
        retention: RetentionPolicy.Limits,
        storage: StorageType.File,
        ...wanted,
      });
      // Also true if another service was slightly faster: the server's answer is the same, including did_create.
      return { createdAt: made.created, created: true };
    }
    if (differs(info.config, wanted)) await jsm.streams.update(STREAM_NAME, { ...info.config, ...wanted });
    return { createdAt: info.created, created: false };
  } catch (error) {
    throw streamError(error, replicas);
  }
}

export async function infoOrNull(jsm: JetStreamManager): Promise<StreamInfo | null> {
  try {
    return await jsm.streams.info(STREAM_NAME);
  } catch (error) {
    if (isStreamNotFound(error)) return null;
    throw error;
  }
}

function differs(has: StreamConfig, wanted: ReturnType<typeof streamConfig>): boolean {
  const keys = Object.keys(wanted) as (keyof typeof wanted)[];
  return keys.some((key) => JSON.stringify(has[key]) !== JSON.stringify(wanted[key]));
}

/** Codes of the JetStream API that a retry does not help, and what a person can do. */
const adviceByCode: Readonly<Record<number, (replicas: number) => string>> = {
  10005: replicasAdvice,
  10074: replicasAdvice,
  10023: storageAdvice,
  10028: storageAdvice,
  10047: storageAdvice,
  10026: () => 'the account holds no further stream: raise its max_streams',
  10027: () => 'the account holds no further stream: raise its max_streams',
  10065: () => `another stream already takes ${STREAM_SUBJECTS.join(', ')}: delete it (nats stream ls)`,
};

function replicasAdvice(replicas: number): string {
  return `the server cannot keep ${replicas} replicas: set nats.replicas to 1 or run a cluster of at least ${replicas}`;
}

function storageAdvice(): string {
  return `JetStream has no ${MAX_BYTES / 1024 / 1024} MiB of file storage left: free the disk or raise max_file_store`;
}

function streamError(error: unknown, replicas: number): Error {
  if (isBusError(error)) return error;
  const advice = error instanceof JetStreamApiError ? adviceByCode[error.code] : undefined;
  if (advice !== undefined)
    return new BusUnusable(`${advice(replicas)} (${reasonOf(error)})`, { cause: error });
  return new BusUnavailable(`stream ${STREAM_NAME}: ${reasonOf(error)}`, { cause: error });
}
