import { errorAnswer } from '../http/answer-error.ts';
import { Refusal } from '../http/refusal.ts';
import { isBatch, structuredHeaders } from './payload/cloud-event.ts';
import { readPayload } from './payload/read-payload.ts';
import type { Received } from './receive/receive.ts';

/**
 * Each event costs a commit of some milliseconds, one after the other, and senders wait for the answer for 10 to 30
 * seconds. (Azure Event Grid: 30 seconds, and the size of its batches can be set.)
 */
export const MOST_EVENTS = 500;

/** The events of a batch, each as if it had been sent alone; null: the request is not a batch. @throws Refusal 400, 413 */
export function batchedEvents(received: Received): readonly Received[] | null {
  const { headers, body } = received;
  if (!isBatch(headers)) return null;
  const events = readPayload(headers, body);
  if (!Array.isArray(events)) {
    throw new Refusal(400, 'invalid_batch', 'the body is not a batch: send a list of CloudEvents');
  }
  if (events.length > MOST_EVENTS) {
    throw new Refusal(
      413,
      'batch_too_large',
      `the batch has ${events.length} events: send at most ${MOST_EVENTS} at once`,
    );
  }
  const alone = structuredHeaders(headers);
  return events.map((event: unknown) => ({
    ...received,
    headers: alone,
    body: bodyOf(event),
  }));
}

function bodyOf(event: unknown): Buffer {
  try {
    return Buffer.from(JSON.stringify(event));
  } catch {
    // JSON.stringify recurses; JSON.parse does not.
    throw new Refusal(400, 'too_deep', 'an event of the batch is nested too deeply: flatten it');
  }
}

export interface TakenBatch<A> {
  readonly answers: readonly A[];
  readonly refusals: readonly Refusal[];
  /** In the order of the events. */
  readonly items: readonly object[];
}

/**
 * One after the other, because the order of events of the same session counts. An event that is refused for good does
 * not hold up the others. If a repeat can help (an outage, a rate limit), the whole batch is refused: the sender repeats
 * it, and what was accepted before is a duplicate then.
 *
 * @throws Refusal if a repeat can help, or if every event is refused
 */
export async function takeBatch<A extends { readonly body: object }>(
  events: readonly Received[],
  take: (event: Received) => Promise<A>,
): Promise<TakenBatch<A>> {
  const answers: A[] = [];
  const refusals: Refusal[] = [];
  const items: object[] = [];
  for (const event of events) {
    try {
      const answer = await take(event);
      answers.push(answer);
      items.push(answer.body);
    } catch (error) {
      if (!(error instanceof Refusal) || error.retryable) throw error;
      refusals.push(error);
      items.push({ status: 'refused', error: errorAnswer(error).message });
    }
  }
  const [first] = refusals;
  if (first !== undefined && answers.length === 0) throw first;
  return { answers, refusals, items };
}
