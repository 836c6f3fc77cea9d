import { metrics } from '@angelia/service-kit';
import type { SendPlan } from '@angelia/session';
import { type Loaded, withSpan } from '@angelia/sessions';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { Verdict } from '../gate/circuits.ts';
import type { Ask } from '../gate/send-gate.ts';
import type { DeliveryTools, Turnstile } from '../plan/deliver-session.ts';
import type { ReadyTarget } from '../targets/registry.ts';
import type { SendResult, TargetAddress } from '../targets/target.ts';
import { claimOutput } from './claim-output.ts';
import { composeOutput } from './compose-output.ts';
import { outputEvent } from './output-message.ts';
import { recordOutcome } from './record-outcome.ts';
import { sendOutput } from './send-output.ts';

export interface Attempt {
  readonly plan: SendPlan;
  readonly ready: ReadyTarget;
  readonly address: TargetAddress;
  readonly ask: Ask;
  /** When the plan was made. */
  readonly now: number;
  readonly turnstile: Turnstile;
}

export interface Attempted {
  /** The session as it is then; when another sender was quicker to claim, with the other's claim in it. */
  readonly loaded: Loaded;
  readonly verdict: Verdict;
}

/**
 * One attempt at one output: claim, send, record. It is in the trace of the event that said it, so that retries,
 * however late and by whom, are in the session's trace (invariant one-trace).
 */
export function attemptOutput(loaded: Loaded, attempt: Attempt, tools: DeliveryTools): Promise<Attempted> {
  const { plan } = attempt;
  return withSpan(
    `deliver ${plan.target.target}`,
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
    async (span): Promise<Attempted> => {
      const composed = composeOutput(loaded, attempt, tools);
      const claim = await claimOutput(loaded, attempt, tools);
      if (!claim.mine) return { loaded: claim.loaded, verdict: 'undecided' };
      attempt.turnstile.onClaimed();
      tools.unrecorded.add(loaded.id);
      const begun = tools.clock.monotonic();
      const sent = await sendOutput(claim, composed, attempt, tools);
      const { result } = sent;
      metrics.sendSeconds.observe(
        { target: plan.target.target, outcome: result.kind },
        (tools.clock.monotonic() - begun) / 1000,
      );
      span.setAttribute('angelia.outcome', result.kind);
      if (result.kind !== 'taken') span.setStatus({ code: SpanStatusCode.ERROR, message: result.reason });
      const recorded = sent.overtaken ? sent.loaded : await recordOutcome(sent, plan, tools);
      tools.unrecorded.delete(loaded.id);
      return { loaded: recorded, verdict: verdictOf(result) };
    },
  );
}

/** Whoever answers, if only that it refuses, is up; who asks us to wait is looked at again after the wait. */
function verdictOf(result: SendResult): Verdict {
  switch (result.kind) {
    case 'taken':
    case 'permanent':
      return 'worked';
    case 'unknown':
      return 'failed';
    case 'retryable':
      return result.retryAfterSeconds === undefined ? 'failed' : 'undecided';
  }
}
