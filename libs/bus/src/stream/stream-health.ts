import { setTimeout as pause } from 'node:timers/promises';
import { STREAM_NAME } from '@angelia/contracts';
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { reasonOf } from '../errors.ts';
import { isLeaderless, isStreamNotFound } from '../jetstream-errors.ts';

/** The newest message can be gone between the two questions (a cap, an age): then the second look finds another. */
const SECOND_LOOK_MS = 200;

/**
 * Whether the server cannot give back what it says it holds. Its store was deleted under it, or it removed the files of
 * an earlier stream too late: it then acks hints that nobody will ever get, or refuses them, until it is restarted. What
 * was hinted is not lost (the log has it), so the stream is simply made anew.
 */
export async function isStreamUnreadable(
  jsm: JetStreamManager,
  options: { /** It has just refused a hint: then an empty one is as bad. */ readonly refused: boolean },
): Promise<boolean> {
  const first = await look(jsm, options.refused);
  if (!first.unreadable) return false;
  await pause(SECOND_LOOK_MS);
  const second = await look(jsm, options.refused);
  // Of a cluster: when another server leads meanwhile, the two questions may have been answered by two.
  return second.unreadable && second.leader === first.leader;
}

async function look(
  jsm: JetStreamManager,
  refused: boolean,
): Promise<{ readonly unreadable: boolean; readonly leader: string | undefined }> {
  try {
    const { state, cluster } = await jsm.streams.info(STREAM_NAME);
    const leader = cluster?.leader;
    // What a server says that does not lead is no judgement: nothing is made anew for want of a leader.
    if (isWithoutLeader(cluster)) return { unreadable: false, leader };
    if (state.messages === 0) return { unreadable: refused, leader };
    const newest = await jsm.streams.getMessage(STREAM_NAME, { seq: state.last_seq });
    return { unreadable: newest === null, leader };
  } catch (error) {
    if (isStreamNotFound(error)) return { unreadable: false, leader: undefined };
    throw error;
  }
}

/** Within the time that a probe has (service-kit's health.ts). A leader answers in milliseconds. */
const PROBE_TIMEOUT_MS = 1_000;

/** Null: somebody leads the stream, or there is none, and the next that needs it makes it. */
export async function whyNotLed(jsm: JetStreamManager): Promise<string | null> {
  const answer = jsm.streams.info(STREAM_NAME).then(
    ({ cluster }) => (isWithoutLeader(cluster) ? NO_LEADER : null),
    (error: unknown) => {
      if (isStreamNotFound(error)) return null;
      return isLeaderless(error) ? NO_LEADER : `JetStream: ${reasonOf(error)}`;
    },
  );
  const timer = Promise.withResolvers<string>();
  const timeout = setTimeout(() => timer.resolve(NO_LEADER), PROBE_TIMEOUT_MS);
  try {
    return await Promise.race([answer, timer.promise]);
  } finally {
    clearTimeout(timeout);
  }
}

/** A server that is left alone goes on answering, from what it has. One that is in no cluster speaks of none. */
function isWithoutLeader(cluster: StreamInfo['cluster'] | null): boolean {
  return cluster != null && !cluster.leader;
}

const NO_LEADER = 'the hint stream has no leader: is a majority of the NATS servers up?';

export async function deleteStream(jsm: JetStreamManager): Promise<void> {
  try {
    await jsm.streams.delete(STREAM_NAME);
  } catch (error) {
    if (!isStreamNotFound(error)) throw error;
  }
}
