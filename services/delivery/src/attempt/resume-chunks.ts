import type { EventData } from '@angelia/contracts';
import type { SendPlan } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { Piece } from '../targets/target.ts';

/** What stands for the messages that cannot be sent any more. Every platform shows it as it is. */
const REST: Piece = {
  text: '... cut here: Angelia was updated while this text was being sent. The session has all of it.',
};

/**
 * The pieces as an attempt goes on with them after `plan.taken` of them were taken. The same text is cut in the same way
 * by one version; another version may cut it otherwise, which shows in their number. Where the next one would have begun
 * nobody knows then: what came after it would be said twice, or never, without a word.
 */
export function resumePieces(
  { events }: Pick<Loaded, 'events'>,
  { output, taken }: Pick<SendPlan, 'output' | 'taken'>,
  pieces: readonly Piece[],
): readonly Piece[] {
  if (taken === 0) return pieces;
  const last = events.findLast(
    ({ type, data }) =>
      type === 'delivery.chunk-taken' && (data as EventData<'delivery.chunk-taken'>).output === output,
  );
  const before = (last?.data as EventData<'delivery.chunk-taken'> | undefined)?.chunks ?? pieces.length;
  if (before === pieces.length) return pieces;
  // Those that were taken are only counted.
  return [...Array.from({ length: taken }, () => REST), REST];
}
