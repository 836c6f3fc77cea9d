import type { EventData } from '@angelia/contracts';
import type { SendPlan } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { Chunk } from '../text/cut/chunk.ts';

/** Stands for the messages that can no longer be sent. Every platform shows it as it is. */
const REST: Chunk = {
  text: '... cut here: Angelia was updated while this text was being sent. The session has all of it.',
};

/**
 * The chunks with which an attempt continues after the target has taken `plan.taken` of them. One version always cuts the
 * same text in the same way. Another version may cut it differently, which shows in the number of chunks. Then nobody knows
 * where the next chunk would have begun, and continuing would silently repeat or lose text.
 */
export function resumeChunks(
  { events }: Pick<Loaded, 'events'>,
  { output, taken }: Pick<SendPlan, 'output' | 'taken'>,
  chunks: readonly Chunk[],
): readonly Chunk[] {
  if (taken === 0) return chunks;
  const last = events.findLast(
    ({ type, data }) =>
      type === 'delivery.chunk-taken' && (data as EventData<'delivery.chunk-taken'>).output === output,
  );
  const before = (last?.data as EventData<'delivery.chunk-taken'> | undefined)?.chunks ?? chunks.length;
  if (before === chunks.length) return chunks;
  // Chunks that were taken are only counted, so their text does not matter.
  return [...Array.from({ length: taken }, () => REST), REST];
}
