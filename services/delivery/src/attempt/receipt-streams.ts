import { receiptKeys } from '@angelia/chats';
import { instanceOf, type KeyEventData } from '@angelia/contracts';
import type { StreamAppend } from '@angelia/event-log';
import { type Loaded, newEventId } from '@angelia/sessions';
import type { DeliveryContext } from '../delivery-context.ts';
import type { DeliveredPlace, Target, TargetAddress } from '../targets/target.ts';

/** Where an output is sent. */
export interface ReceiptPlace {
  readonly target: Target;
  readonly address: TargetAddress;
}

type Named = KeyEventData<'key.session-opened'>;
type Context = Pick<DeliveryContext, 'streams' | 'holder' | 'logger'>;

/**
 * What is appended along with a receipt, so that a reply to the message, or in its thread, finds the session: one event in
 * the small stream of each (libs/chats). Nothing for a platform that nobody can reply on.
 *
 * @param again the append met a conflict: two sessions delivered into one thread at the same time, or a message was edited
 */
export async function receiptStreams(
  loaded: Loaded,
  {
    output,
    receipt,
    place: { target, address },
  }: { readonly output: number; readonly receipt: string | null; readonly place: ReceiptPlace },
  again: boolean,
  context: Context,
): Promise<readonly StreamAppend[]> {
  const sessionId = sessionOfReplies(loaded);
  if (receipt === null || sessionId === null) return [];
  const place = placeOf(target, receipt, address, loaded, context);
  if (place === null) return [];
  const keys = receiptKeys(place, { deliverOnly: loaded.state.created?.deliverOnly ?? false });
  // `/approve` in a reply to a message is about the request in that message. In a thread it may be about any request.
  const isRequest = loaded.events[output - 1]?.type === 'approval.requested';
  const names: Named = { session_id: sessionId };
  const ofMessage: Named = isRequest ? { ...names, request: output } : names;
  const appends = keys.map((key, index) =>
    // The message comes first. It is new, unless a status was edited into it: its stream is read after a conflict only.
    index === 0 && !again
      ? openingAt(0, key, ofMessage, loaded, context)
      : opening(key, index === 0 ? ofMessage : names, loaded, context),
  );
  return (await Promise.all(appends)).filter((append) => append !== null);
}

/** The answer of a command is about another session, or about none: nobody can continue a `deliver_only` session. */
function sessionOfReplies({ id, state }: Loaded): string | null {
  const { created } = state;
  return created?.deliverOnly === true ? (created.about ?? null) : id;
}

/** The receipt must be recorded in any case. */
function placeOf(
  { name, placeOf: find }: Target,
  receipt: string,
  address: TargetAddress,
  { id }: Loaded,
  { logger }: Context,
): DeliveredPlace | null {
  try {
    return find?.(receipt, address) ?? null;
  } catch (error) {
    logger.error({ err: error, session_id: id, target: name }, 'target failed to say where its message is');
    return null;
  }
}

/** Null: it names them already. */
async function opening(
  stream: string,
  names: Named,
  loaded: Loaded,
  context: Context,
): Promise<StreamAppend | null> {
  const head = await context.streams.readHead(stream);
  const known = head?.data as Named | undefined;
  if (known?.session_id === names.session_id && known.request === names.request) return null;
  return openingAt(head?.version ?? 0, stream, names, loaded, context);
}

function openingAt(
  version: number,
  streamId: string,
  data: Named,
  { id, state }: Loaded,
  { holder }: Context,
): StreamAppend {
  const traceparent = state.created?.traceparent ?? null;
  const meta = {
    actor: instanceOf(holder),
    correlation: id,
    ...(traceparent === null ? {} : { traceparent }),
  };
  return {
    streamId,
    expectedVersion: version,
    events: [{ eventId: newEventId(), type: 'key.session-opened', data, meta }],
  };
}
