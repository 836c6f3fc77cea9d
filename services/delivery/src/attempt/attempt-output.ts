import { metrics } from '@angelia/service-kit';
import type { SendPlan } from '@angelia/session';
import { type Loaded, markFailed, SESSION_ID, withSpan } from '@angelia/sessions';
import type { Verdict } from '@angelia/waiting';
import { type Span, SpanKind } from '@opentelemetry/api';
import type { DeliveryContext } from '../delivery-context.ts';
import type { SendIntent } from '../gate/send-gate.ts';
import type { SessionGate } from '../gate/session-gate.ts';
import type { SendResult, TargetAddress } from '../targets/target.ts';
import type { ConfiguredTarget } from '../targets/target-registry.ts';
import { claimOutput } from './claim-output.ts';
import { type ComposeResult, composeOutput } from './compose-output.ts';
import { earlierReceipts } from './conversation.ts';
import { recordOutcome } from './record-outcome.ts';
import { type Sent, sendOutput } from './send-output.ts';

interface AttemptInput {
  readonly loaded: Loaded;
  readonly plan: SendPlan;
  /** When the plan was made, by the database's clock. */
  readonly plannedAt: number;
  readonly configured: ConfiguredTarget;
  readonly address: TargetAddress;
  readonly intent: SendIntent;
  readonly gate: SessionGate;
}

interface Attempted {
  /** The session after the attempt. If another sender claimed first, it holds the other's claim. */
  readonly loaded: Loaded;
  readonly verdict: Verdict;
}

/**
 * One attempt at one output: compose, claim, send, record. Every retry, however late and by whichever process, is in the
 * session's trace (invariant one-trace).
 *
 * It composes before it claims: cutting a long text takes a while, and a claim leaves only seconds to begin the request.
 */
export function attemptOutput(input: AttemptInput, context: DeliveryContext): Promise<Attempted> {
  const { loaded, plan, plannedAt, configured, address, intent, gate } = input;
  return withSpan(
    () => ({
      name: `deliver ${plan.target.target}`,
      kind: SpanKind.CLIENT,
      // Not below the run: if its runner was killed right after the answer, nobody exports the span of the run.
      parent: loaded.state.created?.traceparent ?? undefined,
      attributes: {
        [SESSION_ID]: loaded.id,
        'angelia.output': plan.output,
        'angelia.attempt': plan.attempt,
        'angelia.target': plan.target.target,
        'angelia.possible_duplicate': plan.possibleDuplicate,
      },
    }),
    async (span): Promise<Attempted> => {
      const composed = composeOutput({ loaded, plan, configured }, context);
      const { conversationKeys } = configured.target;
      const earlier =
        conversationKeys === undefined
          ? []
          : await earlierReceipts(loaded, plan, conversationKeys, context.sessions);
      const claimed = await claimOutput(
        { loaded, plan, plannedAt, buttons: willBeEdited(composed, configured, context) },
        context,
      );
      if (claimed.kind === 'lost') return { loaded: claimed.loaded, verdict: 'undecided' };
      gate.onClaimed();
      context.unrecorded.add(loaded.id);
      const startedAt = context.clock.monotonic();
      const sent: Sent =
        composed.kind === 'failed'
          ? { kind: 'finished', loaded: claimed.claim.loaded, result: composed.result }
          : await sendOutput(
              { claim: claimed.claim, composed, plan, earlier, configured, address, intent, gate },
              context,
            );
      observe(sent.result, plan, context.clock.monotonic() - startedAt, span);
      const recorded =
        sent.kind === 'overtaken'
          ? sent.loaded
          : await recordOutcome(
              {
                loaded: sent.loaded,
                plan,
                place: { target: configured.target, address },
                result: sent.result,
              },
              context,
            );
      context.unrecorded.delete(loaded.id);
      return { loaded: recorded, verdict: verdictOf(sent.result) };
    },
  );
}

/** Only if the buttons can be removed again. A message that cannot be edited needs no later edit. */
function willBeEdited(
  composed: ComposeResult,
  { target }: ConfiguredTarget,
  { chats }: Pick<DeliveryContext, 'chats'>,
): boolean {
  if (composed.kind === 'failed' || target.edit === undefined) return false;
  const { type, buttons = [] } = composed.message;
  const isQuestion = type === 'clarification' || type === 'approval';
  return buttons.length > 0 || (isQuestion && target.showsClosed === true && chats.has(target.name));
}

function observe(result: SendResult, plan: SendPlan, elapsedMs: number, span: Span): void {
  metrics.sendSeconds.observe({ target: plan.target.target, outcome: result.kind }, elapsedMs / 1000);
  span.setAttribute('angelia.outcome', result.kind);
  // The reason is in the event. It may name the address of the target, which does not belong into a span.
  if (result.kind !== 'taken') markFailed(span, result.kind);
}

/** A target that answers is up, even if it refuses. A target that asks us to wait says nothing: the next attempt will tell. */
function verdictOf(result: SendResult): Verdict {
  switch (result.kind) {
    case 'taken':
    case 'permanent':
      return 'worked';
    case 'unknown':
      return 'failed';
    case 'retryable':
      return result.retryAfterSeconds === undefined && result.ours !== true ? 'failed' : 'undecided';
  }
}
