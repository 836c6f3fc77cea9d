import type { SendPlan } from '@angelia/session';
import type { DeliveryTools } from '../plan/deliver-session.ts';
import { decideDelivery } from './append-command.ts';
import type { Claim } from './claim-output.ts';
import { untilRecorded } from './record-outcome.ts';
import { momentOf } from './send-window.ts';

type Held = Extract<Claim, { mine: true }>;

/** `delivery.chunk-taken`: one message of several is there, and the claim is renewed for the next. null: it is not ours any more. */
export async function recordChunk(
  held: Held,
  plan: SendPlan,
  taken: { readonly chunk: number; readonly chunks: number; readonly receipt: string | null },
  tools: DeliveryTools,
): Promise<Held | null> {
  let asked = held.asked;
  const decided = await untilRecorded(
    () => {
      // Before the append is sent: see send-window.ts.
      asked = momentOf(tools.clock);
      return decideDelivery(tools.sessions, held.loaded, {
        type: 'take-chunk',
        output: plan.output,
        attempt: plan.attempt,
        chunk: taken.chunk,
        chunks: taken.chunks,
        receipt: taken.receipt,
        deadlineSeconds: held.times.deadlineMs / 1000,
      });
    },
    held.loaded.id,
    tools,
  );
  if (decided.refused !== null) {
    tools.logger.warn(
      { session_id: held.loaded.id, output: plan.output, chunk: taken.chunk, refused: decided.refused },
      'a part of an output was taken too late to be recorded',
    );
    return null;
  }
  // Not appended: an earlier try did it, whose answer was lost, and the claim counts from then.
  if (!decided.appended) asked = held.asked;
  return { ...held, loaded: decided.loaded, asked };
}
