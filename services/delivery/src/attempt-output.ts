import { type Loaded, withSpan } from '@angelia/service-kit';
import type { SendPlan } from '@angelia/session';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { claimOutput } from './claim-output.ts';
import type { DeliveryTools } from './deliver-session.ts';
import { outputEvent } from './message.ts';
import { recordOutcome } from './record-outcome.ts';
import { sendOutput } from './send-output.ts';
import type { ReadyTarget } from './targets/registry.ts';
import type { TargetAddress } from './targets/target.ts';

export interface Attempt {
  readonly plan: SendPlan;
  readonly ready: ReadyTarget;
  readonly address: TargetAddress;
  /** When the plan was made. */
  readonly now: number;
  readonly onClaimed: () => void;
}

/**
 * One attempt at one output: claim, send, record. It is in the trace of the event that said it, so that retries,
 * however late and by whom, are in the session's trace (invariant one-trace). Returns the session as it is then; when
 * another sender was quicker to claim, with the other's claim in it.
 */
export function attemptOutput(loaded: Loaded, attempt: Attempt, tools: DeliveryTools): Promise<Loaded> {
  const { plan } = attempt;
  return withSpan(
    'delivery',
    {
      kind: SpanKind.CLIENT,
      parent: outputEvent(loaded, plan.output).meta.traceparent,
      attributes: {
        'angelia.session_id': loaded.id,
        'angelia.output': plan.output,
        'angelia.attempt': plan.attempt,
        'angelia.target': plan.target.target,
        'angelia.possible_duplicate': plan.possibleDuplicate,
      },
    },
    async (span) => {
      const claim = await claimOutput(loaded, attempt, tools);
      if (!claim.mine) return claim.loaded;
      attempt.onClaimed();
      tools.unrecorded.add(loaded.id);
      const result = await sendOutput(claim, attempt, tools);
      span.setAttribute('angelia.outcome', result.kind);
      if (result.kind !== 'taken') span.setStatus({ code: SpanStatusCode.ERROR, message: result.reason });
      const recorded = await recordOutcome(claim.loaded, plan, result, tools);
      tools.unrecorded.delete(loaded.id);
      return recorded;
    },
  );
}
