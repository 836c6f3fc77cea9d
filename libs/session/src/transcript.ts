import type { EventData, Outcome, RecordedFact, ToolCall, TranscriptMessage } from '@angelia/contracts';
import type { StreamEvent } from './evolve.ts';
import type { SessionState } from './state.ts';

/**
 * The conversation as the model sees it, made of recorded things only (seed 003).
 *
 * Turns stand in their order, each with its input, its steps and its answer; a turn is not shown before the one in
 * front of it is over, so that roles alternate however many messages were queued (D8). An answer is one row: the
 * final response, of which the model's own last text is an earlier copy. Within a step every call has one result, in
 * the order of the calls: the recorded one, the answer to the question, or that it is unknown. That a run is a resumed
 * one is no row here (C4): see `resumeNote`.
 */
export interface Message extends TranscriptMessage {
  readonly turn?: number;
  /** On the row of a final response. */
  readonly outcome?: Outcome;
  readonly silent?: boolean;
}

/** C14: the model decides what to do about it; we do not run the call again. */
const UNKNOWN_RESULT =
  'The outcome of this call is unknown: the work was interrupted before its result was recorded. ' +
  'It may have taken effect. Check before you do it again.';
const NOT_RUN_RESULT = 'This call was not carried out.';
const CANCELLED = '[This was cancelled before it was answered.]';

interface Step {
  readonly calls: readonly ToolCall[];
  readonly startedIn: Map<string, number>;
  readonly results: Map<string, string>;
}

interface Turn {
  readonly requested: EventData<'turn.requested'>;
  input: string;
  superseded: number;
  generation: number | null;
  rows: Message[];
  step: Step | null;
  /** The model's text without tool calls: its answer, until the final response takes its place. */
  said: string | null;
  over: boolean;
  withdrawn: boolean;
}

export function transcript(events: readonly StreamEvent[]): Message[] {
  const turns = new Map<number, Turn>();
  const questions = new Map<string, { turn: number; callId: string }>();
  let ended = false;

  for (const event of events) {
    const fact = event as RecordedFact;
    switch (fact.type) {
      case 'turn.requested':
        turns.set(fact.data.turn, newTurn(fact.data));
        break;
      case 'webhook.coalesced': {
        const turn = turns.get(fact.data.turn);
        if (turn === undefined) break;
        turn.input = fact.data.input;
        turn.superseded += 1;
        break;
      }
      case 'run.started': {
        const turn = turns.get(fact.data.turn);
        if (turn !== undefined) turn.generation = fact.data.generation;
        break;
      }
      case 'model.responded':
        modelResponded(turns.get(fact.data.turn), fact.data);
        break;
      case 'tool.started':
        turns.get(fact.data.turn)?.step?.startedIn.set(fact.data.call_id, fact.data.generation);
        break;
      case 'tool.finished':
        turns.get(fact.data.turn)?.step?.results.set(fact.data.call_id, fact.data.result);
        break;
      case 'clarification.requested':
        questions.set(fact.data.clarification_id, { turn: fact.data.turn, callId: fact.data.call_id });
        break;
      case 'clarification.answered':
      case 'clarification.timed-out': {
        const asked = questions.get(fact.data.clarification_id);
        if (asked === undefined) break;
        const result =
          'answer' in fact.data ? { answer: fact.data.answer } : { answer: null, timed_out: true };
        turns.get(asked.turn)?.step?.results.set(asked.callId, JSON.stringify(result));
        break;
      }
      case 'session.final-response': {
        const { text: content, outcome, silent } = fact.data;
        close(turns.get(fact.data.turn), { role: 'assistant', content, outcome, silent });
        break;
      }
      case 'run.cancelled':
        if (fact.data.turn !== null) {
          close(turns.get(fact.data.turn), { role: 'assistant', content: CANCELLED, outcome: 'cancelled' });
        }
        break;
      case 'process.completion-consumed':
        for (const turn of turns.values()) {
          const about = turn.requested.notice?.process_id === fact.data.process_id;
          if (about && turn.generation === null && !turn.over) turn.withdrawn = true;
        }
        break;
      case 'session.ended':
        ended = true;
        break;
      default:
        // Deliveries, processes and failures are told by the rows of their turns.
        break;
    }
  }
  return rowsOf(turns, ended);
}

/**
 * The answer that a lost run had recorded as the model's and not yet as the final response: the next run finishes the
 * turn with it and does not call the model again. Null: the turn under way has none.
 */
export function pendingAnswer(events: readonly StreamEvent[]): string | null {
  const last = transcript(events).at(-1);
  return last?.role === 'assistant' && last.outcome === undefined && last.tool_calls === undefined
    ? last.content
    : null;
}

/** Told to the model when the prompt of a resumed run is rendered: one note, however often it was resumed (C4, C9). */
export function resumeNote(state: SessionState): string | null {
  if (state.run?.resumed !== true) return null;
  return (
    'The work on this was interrupted and you are resuming it now. What is above did happen. ' +
    'Finish the work and give the answer; do not start over and do not ask what to do next.'
  );
}

function newTurn(requested: EventData<'turn.requested'>): Turn {
  return {
    requested,
    input: requested.input,
    superseded: 0,
    generation: null,
    rows: [],
    step: null,
    said: null,
    over: false,
    withdrawn: false,
  };
}

function modelResponded(turn: Turn | undefined, data: EventData<'model.responded'>): void {
  if (turn === undefined) return;
  closeStep(turn);
  const content = turn.said === null ? data.text : `${turn.said}\n\n${data.text}`;
  if (data.tool_calls.length === 0) {
    turn.said = content;
    return;
  }
  turn.said = null;
  turn.rows.push({ role: 'assistant', content, tool_calls: data.tool_calls });
  turn.step = { calls: data.tool_calls, startedIn: new Map(), results: new Map() };
}

function close(turn: Turn | undefined, answer: Message): void {
  if (turn === undefined || turn.over) return;
  closeStep(turn);
  turn.rows.push(answer);
  turn.said = null;
  turn.over = true;
}

/** The conversation went on: a call that has no result by now will not get one. */
function closeStep(turn: Turn): void {
  const step = turn.step;
  if (step === null) return;
  for (const call of step.calls) {
    const missing = step.startedIn.has(call.id) ? UNKNOWN_RESULT : NOT_RUN_RESULT;
    turn.rows.push(resultRow(call, step.results.get(call.id) ?? missing));
  }
  turn.step = null;
}

function rowsOf(turns: ReadonlyMap<number, Turn>, ended: boolean): Message[] {
  const rows: Message[] = [];
  for (const turn of turns.values()) {
    // Queued behind a cancelled turn and never answered: nobody will.
    if (turn.withdrawn || (ended && !turn.over)) continue;
    const number = turn.requested.turn;
    rows.push(...(turn.requested.history ?? []));
    rows.push({ role: 'user', content: inputOf(turn), turn: number });
    for (const row of [...turn.rows, ...underWay(turn)]) rows.push({ ...row, turn: number });
    if (!turn.over) break;
  }
  return rows;
}

/** What the last step of the turn under way has so far; a call that an earlier run began is unknown to this one. */
function underWay(turn: Turn): Message[] {
  if (turn.said !== null) return [{ role: 'assistant', content: turn.said }];
  const step = turn.step;
  if (step === null) return [];
  return step.calls.flatMap((call) => {
    const result = step.results.get(call.id);
    if (result !== undefined) return [resultRow(call, result)];
    const startedIn = step.startedIn.get(call.id);
    const lost = startedIn !== undefined && turn.generation !== null && startedIn < turn.generation;
    return lost ? [resultRow(call, UNKNOWN_RESULT)] : [];
  });
}

function resultRow(call: ToolCall, content: string): Message {
  return { role: 'tool', content, tool_call_id: call.id };
}

function inputOf(turn: Turn): string {
  const { input, superseded } = turn;
  if (superseded === 0) return input;
  const webhooks = superseded === 1 ? '1 earlier webhook' : `${superseded} earlier webhooks`;
  return `${input}\n\n[This replaces ${webhooks} that arrived shortly before.]`;
}
