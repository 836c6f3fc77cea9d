import { STREAM_NAME } from '@angelia/contracts';
import { LATE, pause, within } from '@angelia/waiting';
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { reasonOf } from '../errors.ts';
import { isLeaderless, isStreamNotFound } from '../jetstream-errors.ts';

/** The newest message can go between the two requests (a cap, an age). Then the second check finds another one. */
const SECOND_CHECK_MS = 200;

/**
 * Whether the server cannot return what it says it holds. Either its store was deleted, or it removed the files of an
 * earlier stream too late. It then acks hints that nobody ever gets, or refuses them, until it is restarted. Nothing is
 * lost (the log has it all), so the stream is simply made again.
 */
export async function isStreamUnreadable(
  jsm: JetStreamManager,
  options: {
    /** It has just refused a hint: then an empty stream is unreadable too. */ readonly refused: boolean;
  },
): Promise<boolean> {
  const first = await check(jsm, options.refused);
  if (!first.unreadable) return false;
  await pause(SECOND_CHECK_MS);
  const second = await check(jsm, options.refused);
  // In a cluster another server may have become the leader, so two servers may have answered the two checks.
  return second.unreadable && second.leader === first.leader;
}

async function check(
  jsm: JetStreamManager,
  refused: boolean,
): Promise<{ readonly unreadable: boolean; readonly leader: string | undefined }> {
  try {
    const { state, cluster } = await jsm.streams.info(STREAM_NAME);
    const leader = cluster?.leader;
    // A server that does not lead cannot judge. The stream is never made again only because it has no leader.
    if (isWithoutLeader(cluster)) return { unreadable: false, leader };
    if (state.messages === 0) return { unreadable: refused, leader };
    const newest = await jsm.streams.getMessage(STREAM_NAME, { seq: state.last_seq });
    return { unreadable: newest === null, leader };
  } catch (error) {
    if (isStreamNotFound(error)) return { unreadable: false, leader: undefined };
    throw error;
  }
}

/** Shorter than the time that a health probe has (service-kit's health.ts). A leader answers in milliseconds. */
const PROBE_TIMEOUT_MS = 1_000;

/** Null: the stream has a leader, or there is no stream yet and the next caller that needs it makes it. */
export async function whyNotLed(jsm: JetStreamManager): Promise<string | null> {
  const answer = jsm.streams.info(STREAM_NAME).then(
    ({ cluster }) => (isWithoutLeader(cluster) ? NO_LEADER : null),
    (error: unknown) => {
      if (isStreamNotFound(error)) return null;
      return isLeaderless(error) ? NO_LEADER : `JetStream: ${reasonOf(error)}`;
    },
  );
  const problem = await within(PROBE_TIMEOUT_MS, answer);
  return problem === LATE ? NO_LEADER : problem;
}

/** A server that lost its cluster goes on answering from what it has. A server without a cluster reports none. */
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
