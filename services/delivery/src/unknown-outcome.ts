import type { SendPlan } from '@angelia/session';
import type { Target } from './targets/target.ts';

/**
 * What follows when it is not known whether the target took a message (a crash or a time-out after sending):
 *
 * - the target is idempotent: it is sent again with the same key, however often, and nobody sees a second copy;
 * - it can be looked up: found is delivered, absent is sent again;
 * - neither tells: it is sent once more, marked as a possible duplicate. When that ends unknown too, it is dead: two
 *   copies may be there, and whether a third is wanted is for a person to say (POST /v1/deliveries/{id}/retry).
 */
export const MOST_UNKNOWNS = 2;

export const TWICE_UNKNOWN =
  'twice it was sent and no answer came, so that it may be there already; it is not sent a third time unless you ask for it';

/** Nothing will tell, and it was made up for once already. */
export function isBeyondKnowing(target: Target, unknowns: number): boolean {
  return unknowns >= MOST_UNKNOWNS && !target.idempotent && target.lookUp === undefined;
}

/** Whether the target must be asked before this is sent. */
export function mustLookUp(target: Target, plan: SendPlan): boolean {
  return plan.unknowns > 0 && !target.idempotent && target.lookUp !== undefined;
}
