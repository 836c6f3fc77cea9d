import type { Attempt } from './attempt-output.ts';
import type { Claim } from './claim-output.ts';
import type { DeliveryTools } from './deliver-session.ts';
import { messageOf } from './message.ts';
import { openSendWindow } from './send-window.ts';
import type { SendResult } from './targets/target.ts';

/** Sends what the claim is for, within the time that the claim leaves. */
export async function sendOutput(
  claim: Extract<Claim, { mine: true }>,
  { plan, ready, address }: Attempt,
  tools: DeliveryTools,
): Promise<SendResult> {
  const { loaded } = claim;
  const window = openSendWindow(claim.asked, claim.times, tools.clock);
  try {
    return await ready.target.send({
      message: messageOf(loaded, plan.output, plan.possibleDuplicate, linksFor(ready.target.name, tools)),
      address,
      settings: ready.settings,
      idempotencyKey: `${loaded.id}.${plan.output}`,
      window,
    });
  } catch (error) {
    // A fault in the target's own code. Whether it had sent is not known; that it happened must be.
    tools.logger.error(
      { err: error, session_id: loaded.id, target: ready.target.name },
      'a target failed unexpectedly',
    );
    return {
      kind: 'unknown',
      reason: `target ${ready.target.name} failed unexpectedly; see the log of ${tools.holder}`,
    };
  } finally {
    window.close();
  }
}

/** Whoever reads a log need not be somebody who may answer: there the link would be a key that lies around. */
function linksFor(target: string, { answerLinks }: DeliveryTools): DeliveryTools['answerLinks'] {
  return target === 'log' ? null : answerLinks;
}
