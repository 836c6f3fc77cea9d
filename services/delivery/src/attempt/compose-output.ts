import type { SendPlan } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { DeliveryContext } from '../delivery-context.ts';
import type { OutboundMessage, SendResult } from '../targets/target.ts';
import type { ConfiguredTarget } from '../targets/target-registry.ts';
import type { Chunk } from '../text/cut/chunk.ts';
import { outputMessage } from './output-message.ts';
import { resumeChunks } from './resume-chunks.ts';

export interface ComposeInput {
  readonly loaded: Loaded;
  readonly plan: Pick<SendPlan, 'output' | 'possibleDuplicate' | 'taken'>;
  readonly configured: ConfiguredTarget;
}

type ComposeResult =
  | { readonly kind: 'composed'; readonly message: OutboundMessage; readonly chunks: readonly Chunk[] }
  /** The target's own code failed, as it would on every attempt. */
  | { readonly kind: 'failed'; readonly result: SendResult };

/** Whoever tries a question with `deliver: log` first should not find out with the first real one. */
const LOCAL_LINKS =
  '(`public_url` of the config is not set, or is an address of this machine only. Delivered elsewhere, this question would ' +
  'have a link that nobody else can open. Set `public_url`.)';

/** Renders the recorded output for the target and cuts it into chunks. */
export function composeOutput(
  { loaded, plan, configured }: ComposeInput,
  context: Pick<DeliveryContext, 'answerLinks' | 'linksAreLocal' | 'logger'>,
): ComposeResult {
  const { target, settings } = configured;
  // A reader of the log need not be somebody who may answer. In a log, the link would be a leaked key.
  const answering =
    target.name === 'log'
      ? { links: null, note: context.linksAreLocal ? LOCAL_LINKS : null }
      : { links: context.answerLinks };
  const message = outputMessage(loaded, plan.output, plan.possibleDuplicate, answering);
  try {
    const chunks = resumeChunks(loaded, plan, target.compose(message, settings));
    return { kind: 'composed', message, chunks };
  } catch (error) {
    context.logger.error(
      { err: error, session_id: loaded.id, target: target.name },
      'target failed to compose a message',
    );
    return {
      kind: 'failed',
      result: { kind: 'permanent', reason: `target ${target.name} cannot send this` },
    };
  }
}
