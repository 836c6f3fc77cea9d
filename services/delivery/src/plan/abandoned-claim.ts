import { type EventData, type HolderId, instanceOf } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';
import { appendCommand } from '../append-command.ts';
import type { DeliveryContext } from '../delivery-context.ts';

/**
 * Releases a claim within its deadline that nobody will complete, so that the output need not wait for the deadline. Such a
 * claim is one of these:
 *
 * - A dead predecessor's. A service that starts again under its stable name knows that the process before it is gone. Whether
 *   that process had sent the message is unknown, and the resend says so.
 * - Our own, committed after we stopped waiting for the answer to its append (Postgres was away). We send only after that
 *   answer. So the message was not sent, unless we did send it and could not record it.
 *
 * Only the one loop that a session has in this process calls this. Null: the claim belongs to another sender that is at work.
 */
export async function releaseAbandonedClaim(
  loaded: Loaded,
  output: number,
  context: DeliveryContext,
): Promise<Loaded | null> {
  const open = loaded.state.outputs.find((candidate) => candidate.output === output);
  const claim = open?.status === 'attempting' ? lastAttempt(loaded, output) : null;
  if (claim === null) return null;
  const ours = claim.sender === context.holder;
  if (!ours && !isPredecessors(claim, context)) return null;
  const result = await appendCommand(context.sessions, loaded, {
    type: 'fail-delivery',
    output,
    attempt: claim.attempt,
    reason: ours
      ? 'claimed while Postgres was unreachable'
      : `${claim.sender} died before it recorded the outcome`,
    retryAt: context.sessions.clock.now(),
    counts: false,
    unknown: !ours || context.unrecorded.has(loaded.id),
  });
  context.unrecorded.delete(loaded.id);
  return result.loaded;
}

interface LastAttempt {
  readonly attempt: number;
  readonly sender: string;
  readonly recordedAt: number;
}

function lastAttempt(loaded: Loaded, output: number): LastAttempt | null {
  const event = loaded.events.findLast(
    ({ type, data }) =>
      type === 'delivery.attempted' && (data as EventData<'delivery.attempted'>).output === output,
  );
  if (event === undefined) return null;
  const { attempt, sender } = event.data as EventData<'delivery.attempted'>;
  return { attempt, sender, recordedAt: event.recordedAt };
}

/** Claimed before we started. A process of our name that claims later is not a predecessor but a second process, by mistake. */
function isPredecessors(claim: LastAttempt, context: DeliveryContext): boolean {
  const startedAt = context.startedAt();
  if (startedAt === null) return false;
  return instanceOf(claim.sender as HolderId) === instanceOf(context.holder) && claim.recordedAt < startedAt;
}
