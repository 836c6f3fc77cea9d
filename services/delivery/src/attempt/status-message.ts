import type { EventData, RecordedEvent } from '@angelia/contracts';
import type { SendPlan } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';

/**
 * With `interim: edit`, the statuses of a turn are one message that is edited. Its receipt is derived from the log: it is the
 * last delivered output, if that is a status of the same turn, sent to the same target as one message. After an answer or
 * a question, the next status is a new message below it. Null: send a new message.
 */
export function statusMessage(loaded: Loaded, plan: SendPlan): string | null {
  if (loaded.state.created?.interim !== 'edit' || plan.kind !== 'interim-status') return null;
  const last = loaded.events.findLast(({ type }) => type === 'delivery.succeeded');
  if (last === undefined) return null;
  const { output, attempt, receipt } = last.data as EventData<'delivery.succeeded'>;
  const said = loaded.events[output - 1];
  if (said?.type !== 'session.interim-status') return null;
  if ((said.data as EventData<'session.interim-status'>).turn !== plan.turn) return null;
  const of = (event: RecordedEvent) => (event.data as EventData<'delivery.attempted'>).output === output;
  const inChunks = loaded.events.some((event) => event.type === 'delivery.chunk-taken' && of(event));
  const via = loaded.events.find(
    (event) =>
      event.type === 'delivery.attempted' &&
      of(event) &&
      (event.data as EventData<'delivery.attempted'>).attempt === attempt,
  );
  const sameTarget = (via?.data as EventData<'delivery.attempted'> | undefined)?.via === plan.via;
  return !inChunks && sameTarget ? (receipt ?? null) : null;
}
