import { type EventData, type HolderId, instanceOf } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';
import { decideDelivery } from '../attempt/append-command.ts';
import type { DeliveryTools } from './deliver-session.ts';

/**
 * A claim within its deadline that nobody will bring to an end, so that its deadline need not be waited for:
 *
 * - that of a dead predecessor: a service that starts again under its stable name knows that the one before it is
 *   gone. Whether it had sent is unknown, and the resend says so;
 * - our own, whose append was committed after we had given up on its answer (Postgres was away). We send only after
 *   that answer: so it was surely not sent, unless we did send and could not record it.
 *
 * Only asked by the one loop that a session has in this process. null: the claim is somebody else's, who is at work.
 */
export async function takeUpOrphanedClaim(
  loaded: Loaded,
  output: number,
  tools: DeliveryTools,
): Promise<Loaded | null> {
  const open = loaded.state.outputs.find((candidate) => candidate.output === output);
  const claim = open?.status === 'attempting' ? lastAttempt(loaded, output) : null;
  if (claim === null) return null;
  const ours = claim.sender === tools.holder;
  if (!ours && !isPredecessors(claim, tools)) return null;
  const decided = await decideDelivery(tools.sessions, loaded, {
    type: 'fail-delivery',
    output,
    attempt: claim.attempt,
    reason: ours ? 'claimed while Postgres was away' : `${claim.sender} died before it recorded the outcome`,
    retryAt: tools.sessions.clock.now(),
    counts: false,
    unknown: !ours || tools.unrecorded.has(loaded.id),
  });
  tools.unrecorded.delete(loaded.id);
  return decided.loaded;
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

/** Claimed before we started: a namesake that claims later is no predecessor, but a second process by mistake. */
function isPredecessors(claim: LastAttempt, tools: DeliveryTools): boolean {
  const startedAt = tools.startedAt();
  if (startedAt === null) return false;
  return instanceOf(claim.sender as HolderId) === instanceOf(tools.holder) && claim.recordedAt < startedAt;
}
