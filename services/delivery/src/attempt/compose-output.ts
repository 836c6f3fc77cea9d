import type { Loaded } from '@angelia/sessions';
import type { DeliveryTools } from '../plan/deliver-session.ts';
import type { OutboundMessage, Piece } from '../targets/target.ts';
import type { Attempt } from './attempt-output.ts';
import { messageOf } from './output-message.ts';
import { resumePieces } from './resume-chunks.ts';

export interface Composed {
  readonly message: OutboundMessage;
  /** null: the target's own code failed at it, as it would on every attempt. */
  readonly pieces: readonly Piece[] | null;
}

/** What is to be sent. Before the claim: a long text takes a while to cut, and a claim leaves seconds to begin in. */
export function composeOutput(loaded: Loaded, { plan, ready }: Attempt, tools: DeliveryTools): Composed {
  const { target, settings } = ready;
  const links = linksFor(target.name, tools);
  const message = messageOf(loaded, plan.output, plan.possibleDuplicate, links);
  try {
    return { message, pieces: resumePieces(loaded, plan, target.compose(message, settings)) };
  } catch (error) {
    tools.logger.error(
      { err: error, session_id: loaded.id, target: target.name },
      'a target could not compose a message',
    );
    return { message, pieces: null };
  }
}

/** Whoever reads a log need not be somebody who may answer: there the link would be a key that lies around. */
function linksFor(target: string, { answerLinks }: DeliveryTools): DeliveryTools['answerLinks'] {
  return target === 'log' ? null : answerLinks;
}
