import type { SendPlan } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { DeliveryContext } from '../delivery-context.ts';
import type { ButtonLimits, OutboundMessage, SendResult, Target, TargetSettings } from '../targets/target.ts';
import type { ConfiguredTarget } from '../targets/target-registry.ts';
import type { Chunk } from '../text/cut/chunk.ts';
import { fileChunks } from './files/named-files.ts';
import { outputMessage } from './output-message.ts';
import type { Answering } from './question-message.ts';
import { resumeChunks } from './resume-chunks.ts';

export interface ComposeInput {
  readonly loaded: Loaded;
  readonly plan: Pick<SendPlan, 'output' | 'possibleDuplicate' | 'taken'>;
  readonly configured: ConfiguredTarget;
}

export type ComposeResult =
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
  context: Pick<DeliveryContext, 'answerLinks' | 'linksAreLocal' | 'chats' | 'logger'>,
): ComposeResult {
  const { target, settings } = configured;
  const answering = answeringAt(configured, context);
  const message = outputMessage(loaded, plan.output, plan.possibleDuplicate, answering);
  try {
    const composed = [...target.compose(message, settings), ...fileChunks(message, loaded)];
    const chunks = resumeChunks(loaded, plan, composed);
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

/** How a question that goes to this target is answered, with the config in force. */
export function answeringAt(
  { target, settings }: AnsweringTarget,
  { answerLinks, linksAreLocal, chats }: Pick<DeliveryContext, 'answerLinks' | 'linksAreLocal' | 'chats'>,
): Answering {
  const { name } = target;
  // Not everybody who reads the log may answer. A link in a log would be a leaked key.
  if (name === 'log') return { links: null, note: linksAreLocal ? LOCAL_LINKS : null };
  return {
    links: answerLinks,
    ...(chats.has(name) ? { chat: { platform: name, buttons: buttonsOf({ target, settings }) } } : {}),
  };
}

interface AnsweringTarget {
  readonly target: Pick<Target, 'name' | 'buttons' | 'clicksNeedUrl'>;
  readonly settings: TargetSettings;
}

function buttonsOf({ target, settings }: AnsweringTarget): ButtonLimits | null {
  const comeBack = target.clicksNeedUrl !== true || settings.clicks_url !== undefined;
  return comeBack ? (target.buttons ?? null) : null;
}
