import type { DeliveryTarget, EventData, SessionId } from '@angelia/contracts';
import type { SendPlan } from '@angelia/session';
import type { Loaded, Sessions } from '@angelia/sessions';

/** A chain of continuations is followed this far back, if none of them was delivered to the same place. */
const MOST_SESSIONS = 10;

/**
 * The receipts of what the same place received before this output, oldest first: from this session, else from the session
 * that it continues. From the log, so that every attempt and every process says the same.
 * @param by the keys of the address that make it the same place
 */
export async function earlierReceipts(
  loaded: Loaded,
  plan: Pick<SendPlan, 'target'>,
  by: readonly string[],
  sessions: Pick<Sessions, 'load'>,
): Promise<readonly string[]> {
  let session = loaded;
  for (let looked = 0; looked < MOST_SESSIONS; looked += 1) {
    const receipts = receiptsIn(session, plan.target, by);
    const { continues } = session.state.created ?? {};
    if (receipts.length > 0 || continues == null) return receipts;
    // A session that was pruned or erased is empty: then the conversation begins anew.
    session = await sessions.load(continues as SessionId);
  }
  return [];
}

function receiptsIn({ state, events }: Loaded, target: DeliveryTarget, by: readonly string[]): string[] {
  const { created } = state;
  if (created === null) return [];
  const vias = new Map<string, 'target' | 'fallback_target'>();
  const receipts: string[] = [];
  for (const { type, data } of events) {
    if (type === 'delivery.attempted') {
      const { output, attempt, via } = data as EventData<'delivery.attempted'>;
      vias.set(`${output}.${attempt}`, via);
    } else if (type === 'delivery.succeeded') {
      const { output, attempt, receipt } = data as EventData<'delivery.succeeded'>;
      const via = vias.get(`${output}.${attempt}`);
      const sentTo = via === 'fallback_target' ? created.fallbackTarget : created.deliver;
      if (receipt !== null && sentTo !== null && isSamePlace(sentTo, target, by)) receipts.push(receipt);
    }
  }
  return receipts;
}

function isSamePlace(one: DeliveryTarget, other: DeliveryTarget, by: readonly string[]): boolean {
  return (
    one.target === other.target &&
    by.every((key) => JSON.stringify(one.to[key]) === JSON.stringify(other.to[key]))
  );
}
