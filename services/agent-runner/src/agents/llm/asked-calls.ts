import type { EventData, RecordedEvent, ToolCall } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import type { OpenCall } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';

/** A call of the last model answer, with the arguments as the model wrote them. */
export interface AskedCall extends OpenCall {
  readonly arguments: string;
  /** Its position in the answer, from 0. */
  readonly index: number;
  /** The answer was cut at the model's limit in this call: its arguments may be a part of what the model meant. */
  readonly isCut: boolean;
}

/** The calls of this turn's last model answer, in the model's order. */
export function askedCalls({ events, state }: Pick<Loaded, 'events' | 'state'>, turn: number): AskedCall[] {
  const calls = state.turns.find((open) => open.turn === turn)?.calls ?? [];
  const answer = events.findLast((event) => event.type === 'model.responded');
  const { tool_calls = [], finish_reason } = (answer?.data ?? {}) as Partial<EventData<'model.responded'>>;
  const written = new Map(tool_calls.map((call) => [call.id, call.arguments]));
  return calls.map((call, index) => ({
    ...call,
    arguments: written.get(call.id) ?? '',
    index,
    isCut: finish_reason === 'length' && index === calls.length - 1,
  }));
}

/** Every provider accepts such an id. */
const USUAL_ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The calls as they are recorded. Their ids are unique in the session, since a result is found by the id of its call.
 * Small models count `call_1`, `call_2` anew in every answer.
 */
export function withUniqueIds(
  calls: readonly ToolCall[],
  events: readonly Pick<RecordedEvent, 'type' | 'data'>[],
  { turn, step }: { readonly turn: number; readonly step: number },
): ToolCall[] {
  const used = usedIds(events);
  return calls.map((call, index) => {
    let id = call.id;
    for (let n = 1; !USUAL_ID.test(id) || used.has(id); n += 1) {
      id = `call_${turn}_${step}_${index + 1}${n === 1 ? '' : `_${n}`}`;
    }
    used.add(id);
    return { id, name: toStorable(call.name), arguments: toStorable(call.arguments) };
  });
}

function usedIds(events: readonly Pick<RecordedEvent, 'type' | 'data'>[]): Set<string> {
  const used = new Set<string>();
  for (const { type, data } of events) {
    if (type === 'model.responded') {
      for (const { id } of (data as EventData<'model.responded'>).tool_calls) used.add(id);
    } else if (type === 'turn.requested') {
      // The model also sees the calls that a continuation inherited.
      for (const row of (data as EventData<'turn.requested'>).history ?? []) {
        for (const { id } of row.tool_calls ?? []) used.add(id);
      }
    }
  }
  return used;
}

/** How a call ended. Null: it has no result yet. */
export function outcomeOf(
  { events, state }: Pick<Loaded, 'events' | 'state'>,
  turn: number,
  callId: string,
): EventData<'tool.finished'>['outcome'] | null {
  const call = state.turns.find((open) => open.turn === turn)?.calls.find(({ id }) => id === callId);
  if (call?.status !== 'done') return null;
  const finished = events.findLast(({ type, data }) => {
    return type === 'tool.finished' && (data as EventData<'tool.finished'>).call_id === callId;
  });
  return (finished?.data as EventData<'tool.finished'> | undefined)?.outcome ?? 'unknown';
}
