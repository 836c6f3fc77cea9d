import { setTimeout as pause } from 'node:timers/promises';
import { STREAM_NAME } from '@angelia/contracts';
import type { JetStreamManager } from '@nats-io/jetstream';
import { isStreamNotFound } from './jetstream-errors.ts';

/** The newest message can be gone between the two questions (a cap, an age): then the second look finds another. */
const SECOND_LOOK_MS = 200;

/**
 * Whether the server cannot give back what it says it holds. Its store was deleted under it, or it removed the files of
 * an earlier stream too late: it then acks hints that nobody will ever get, or refuses them, until it is restarted. What
 * was hinted is not lost (the log has it), so the stream is simply made anew.
 */
export async function isStreamUnreadable(jsm: JetStreamManager): Promise<boolean> {
  const first = await unreadableSequence(jsm);
  if (first === null) return false;
  await pause(SECOND_LOOK_MS);
  return (await unreadableSequence(jsm)) !== null;
}

async function unreadableSequence(jsm: JetStreamManager): Promise<number | null> {
  try {
    const { state } = await jsm.streams.info(STREAM_NAME);
    if (state.messages === 0) return null;
    const newest = await jsm.streams.getMessage(STREAM_NAME, { seq: state.last_seq });
    return newest === null ? state.last_seq : null;
  } catch (error) {
    if (isStreamNotFound(error)) return null;
    throw error;
  }
}

export async function deleteStream(jsm: JetStreamManager): Promise<void> {
  try {
    await jsm.streams.delete(STREAM_NAME);
  } catch (error) {
    if (!isStreamNotFound(error)) throw error;
  }
}
