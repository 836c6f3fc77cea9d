import type { SendPlan } from '@angelia/session';
import { appendCommand } from '../append-command.ts';
import type { DeliveryContext } from '../delivery-context.ts';
import type { Claim } from './claim-output.ts';
import { type ReceiptPlace, receiptStreams } from './receipt-streams.ts';
import { retryUntilRecorded } from './retry-until-recorded.ts';
import { readClocks } from './send-window.ts';

interface RecordChunkInput {
  readonly claim: Claim;
  readonly plan: SendPlan;
  /** `number` counts from 1. */
  readonly place: ReceiptPlace;
  readonly taken: { readonly number: number; readonly count: number; readonly receipt: string | null };
}

type RecordChunkResult =
  | { readonly kind: 'renewed'; readonly claim: Claim }
  /** The claim is no longer ours. */
  | { readonly kind: 'overtaken' };

/** Appends `delivery.chunk-taken`: the target has one message of several. The append renews the claim for the next one. */
export async function recordChunk(
  { claim, plan, place, taken }: RecordChunkInput,
  context: DeliveryContext,
): Promise<RecordChunkResult> {
  const { loaded } = claim;
  let requestedAt = claim.requestedAt;
  const result = await retryUntilRecorded(
    () => {
      requestedAt = readClocks(context.clock);
      return appendCommand(
        context.sessions,
        loaded,
        {
          type: 'take-chunk',
          output: plan.output,
          attempt: plan.attempt,
          chunk: taken.number,
          chunks: taken.count,
          receipt: taken.receipt,
          deadlineSeconds: claim.times.deadlineMs / 1000,
        },
        {
          alongside: (again) =>
            receiptStreams(loaded, { output: plan.output, receipt: taken.receipt, place }, again, context),
        },
      );
    },
    loaded.id,
    context.logger,
  );
  if (result.kind === 'refused') {
    context.logger.warn(
      { session_id: loaded.id, output: plan.output, chunk: taken.number, refused: result.code },
      'chunk was taken too late to be recorded',
    );
    return { kind: 'overtaken' };
  }
  // Unchanged: an earlier try recorded it and its answer was lost. The claim counts from that try, so from the old reading.
  const renewedAt = result.kind === 'appended' ? requestedAt : claim.requestedAt;
  return { kind: 'renewed', claim: { ...claim, loaded: result.loaded, requestedAt: renewedAt } };
}
