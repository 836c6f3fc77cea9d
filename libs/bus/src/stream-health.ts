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
export async function isStreamUnreadable(
  jsm: JetStreamManager,
  options: { /** It has just refused a hint: then an empty one is as bad. */ readonly refused: boolean },
): Promise<boolean> {
  if (!(await looksUnreadable(jsm, options.refused))) return false;
  await pause(SECOND_LOOK_MS);
  return looksUnreadable(jsm, options.refused);
}

async function looksUnreadable(jsm: JetStreamManager, refused: boolean): Promise<boolean> {
  try {
    const { state } = await jsm.streams.info(STREAM_NAME);
    if (state.messages === 0) return refused;
    return (await jsm.streams.getMessage(STREAM_NAME, { seq: state.last_seq })) === null;
  } catch (error) {
    if (isStreamNotFound(error)) return false;
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
