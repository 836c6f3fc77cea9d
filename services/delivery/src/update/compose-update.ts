import type { EventData } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';
import { answeringAt } from '../attempt/compose-output.ts';
import { outputMessage } from '../attempt/output-message.ts';
import type { DeliveryContext } from '../delivery-context.ts';
import type { OutboundMessage } from '../targets/target.ts';
import type { ConfiguredTarget } from '../targets/target-registry.ts';
import type { Chunk } from '../text/cut/chunk.ts';
import type { Closing } from './closing-text.ts';

interface ComposedUpdate {
  readonly message: OutboundMessage;
  /** Replaces the last message of the question, which is the one with the buttons. */
  readonly chunk: Chunk;
  readonly index: number;
  readonly count: number;
}

/**
 * The question again, with what became of it instead of how to answer it. Where the text is several messages, only the last
 * one is edited, so the others have to be as they were delivered. If they would not be, the closing is made shorter, or
 * stands alone where the last message only said how to answer. At last it is left out: the text of the question counts more.
 */
export function composeUpdate(
  loaded: Loaded,
  output: number,
  closing: Closing,
  { target, settings }: ConfiguredTarget,
  context: Pick<DeliveryContext, 'answerLinks' | 'linksAreLocal' | 'chats'>,
): ComposedUpdate {
  const answering = answeringAt({ target, settings }, context);
  const count = deliveredChunks(loaded, output);
  const compose = (closed?: string): Composed => {
    const { buttons: _gone, ...message } = outputMessage(loaded, output, false, answering, closed);
    return { message, chunks: target.compose(message, settings) };
  };
  const { message, chunk } =
    fitting(compose, closing, count) ??
    (count > 1 && compose('').chunks.length < count
      ? lastOf(composeAlone(compose('').message, closing, { target, settings }))
      : lastOf(compose()));
  return { message, chunk, index: count - 1, count };
}

interface Composed {
  readonly message: OutboundMessage;
  readonly chunks: readonly Chunk[];
}

/** Null: with the closing, the messages before the last one would be others. */
function fitting(
  compose: (closed?: string) => Composed,
  closing: Closing,
  count: number,
): LastMessage | null {
  const before = count === 1 ? null : compose();
  const fits = [closing.text, closing.brief]
    .map(compose)
    .find(({ chunks }) => chunks.length === count && (before === null || beginAlike(chunks, before.chunks)));
  return fits === undefined ? null : lastOf(fits);
}

function composeAlone(
  message: OutboundMessage,
  { text }: Closing,
  { target, settings }: ConfiguredTarget,
): Composed {
  const alone = { ...message, text };
  return { message: alone, chunks: target.compose(alone, settings) };
}

type LastMessage = Pick<ComposedUpdate, 'message' | 'chunk'>;

function lastOf({ message, chunks }: Composed): LastMessage {
  const chunk = chunks.at(-1);
  if (chunk === undefined) throw new Error('the target composed no message');
  return { message, chunk };
}

function deliveredChunks({ events }: Loaded, output: number): number {
  const last = events.findLast(
    ({ type, data }) =>
      type === 'delivery.chunk-taken' && (data as EventData<'delivery.chunk-taken'>).output === output,
  );
  return (last?.data as EventData<'delivery.chunk-taken'> | undefined)?.chunks ?? 1;
}

function beginAlike(chunks: readonly Chunk[], others: readonly Chunk[]): boolean {
  return chunks.slice(0, -1).every(({ text }, index) => text === others[index]?.text);
}
