import type { SendPlan } from '@angelia/session';
import type { EditResult, SendRequest, SendResult, Target } from '../targets/target.ts';
import { mustLookUp } from './unknown-outcome.ts';

/** Of a piece: its forerunner's outcome may be unknown only for the first that an attempt sends. */
export interface PieceAttempt {
  readonly target: Target;
  readonly plan: SendPlan;
  /** As it would be sent by somebody who knows nothing of earlier attempts. */
  readonly request: SendRequest;
  /** The plan's unknown outcomes are about this one. */
  readonly first: boolean;
  /** Receipt of the status message that this one is to be put in the place of. */
  readonly statusMessage: string | null;
}

/** One message: edited into an earlier one, or looked up where it may be there, or sent. */
export async function sendPiece(attempt: PieceAttempt): Promise<SendResult> {
  const { target, statusMessage, request } = attempt;
  if (statusMessage !== null && target.edit !== undefined) {
    // A repeated edit changes nothing: an unknown outcome needs no care.
    const edited: EditResult = await target.edit(request, statusMessage);
    if (edited.kind !== 'gone') return edited;
  }
  const { plan, first } = attempt;
  if (!first || plan.unknowns === 0 || target.idempotent) return await target.send(request);
  if (!mustLookUp(target, plan) || target.lookUp === undefined) {
    return await target.send({ ...request, markDuplicate: true });
  }
  const there = await target.lookUp(request);
  switch (there.kind) {
    case 'found':
      return { kind: 'taken', receipt: there.receipt };
    case 'absent':
      return await target.send(request);
    case 'retryable':
      return there;
    case 'cannot-tell':
      return await target.send({ ...request, markDuplicate: true });
  }
}
