import type { SendPlan, SessionCommand } from '@angelia/session';
import { EventTooNew, type Loaded } from '@angelia/sessions';
import { appendCommand } from '../append-command.ts';
import type { DeliveryContext } from '../delivery-context.ts';
import type { SendResult } from '../targets/target.ts';
import { type ReceiptPlace, receiptStreams } from './receipt-streams.ts';
import { afterFailure } from './retry-schedule.ts';
import { retryUntilRecorded } from './retry-until-recorded.ts';

interface RecordInput {
  readonly loaded: Loaded;
  readonly plan: SendPlan;
  /** Where it was sent. */
  readonly place: ReceiptPlace;
  readonly result: SendResult;
}

/** Appends `delivery.succeeded`, `delivery.failed` with its retry, or `delivery.dead`. Returns the session after it. */
export async function recordOutcome(
  { loaded, plan, place, result }: RecordInput,
  context: DeliveryContext,
): Promise<Loaded> {
  const { logger, sessions } = context;
  const command = outcomeCommand(result, plan, context);
  const receipt = command.type === 'succeed-delivery' ? (command.receipt ?? null) : null;
  const alongside = (again: boolean) =>
    receiptStreams(loaded, { output: plan.output, receipt, place }, again, context);
  const record = (options?: Parameters<typeof appendCommand>[3]) =>
    retryUntilRecorded(
      () => appendCommand(sessions, loaded, command, { alongside, ...options }),
      loaded.id,
      logger,
    );
  const recorded = await record().catch(async (error: unknown) => {
    // In the middle of an upgrade. That the target has the message is true whatever the newer events say, and only this
    // process knows it: if we do not record it, an upgraded replica sends it again. Replicas that can read all events
    // decide what is next.
    if (error instanceof EventTooNew && command.type === 'succeed-delivery') {
      await record({ pastUnreadable: true });
      context.unrecorded.delete(loaded.id);
    }
    throw error;
  });
  const fields = { session_id: loaded.id, output: plan.output };
  // Settled: an earlier try recorded it and its answer was lost. Any other refusal: another sender claimed it past our deadline.
  if (recorded.kind === 'refused' && recorded.code !== 'delivery_settled') {
    logger.warn(
      { ...fields, attempt: plan.attempt, outcome: result.kind, refused: recorded.code },
      'outcome came too late to be recorded',
    );
  } else if (command.type === 'give-up-delivery') {
    logger.warn({ ...fields, target: plan.target.target, reason: command.reason }, 'delivery is dead');
  }
  return recorded.loaded;
}

function outcomeCommand(result: SendResult, plan: SendPlan, context: DeliveryContext): SessionCommand {
  const { output, attempt, via } = plan;
  switch (result.kind) {
    case 'taken':
      return { type: 'succeed-delivery', output, attempt, receipt: result.receipt };
    case 'permanent':
      return { type: 'give-up-delivery', output, attempt, via, reason: result.reason };
    case 'unknown':
    case 'retryable': {
      const now = context.sessions.clock.now();
      const next = afterFailure(plan, result, { policy: context.policy, now, random: context.random });
      if (next.kind === 'give-up') {
        return { type: 'give-up-delivery', output, attempt, via, reason: next.reason };
      }
      return {
        type: 'fail-delivery',
        output,
        attempt,
        reason: result.reason,
        retryAt: next.at,
        counts: next.counts,
        unknown: result.kind === 'unknown',
      };
    }
  }
}
