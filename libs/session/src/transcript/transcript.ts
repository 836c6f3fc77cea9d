import type { EventData, Outcome, RecordedFact, ToolCall, TranscriptMessage } from '@angelia/contracts';
import type { StreamEvent } from '../evolve.ts';
import type { SessionState } from '../state.ts';
import { fenced, markOf } from './untrusted-text.ts';

/**
 * The conversation as the model sees it, made of recorded things only (seed 003).
 *
 * Turns stand in their order, each with its input, its steps and its answer; a turn is not shown before the one in
 * front of it is over, so that roles alternate however many messages were queued (D8). An answer is one row: the
 * final response, of which the model's own last text is an earlier copy. Within a step every call has one result, in
 * the order of the calls: the recorded one, the answer to the question, or that it is unknown. That a run is a resumed
 * one is no row here (C4): see `resumeNote`. Where a conversation was compressed, it begins with the input of the turn
 * in which it was, and the summary of what is left out.
 */
export interface Message extends TranscriptMessage {
  readonly turn?: number;
  /** On the row of a final response. */
  readonly outcome?: Outcome;
  readonly silent?: boolean;
}

/** C14: the model decides what to do about it; we do not run the call again. */
export const UNKNOWN_RESULT =
  'The outcome of this call is unknown: the work was interrupted before its result was recorded. ' +
  'It may have taken effect. Check before you do it again.';
const NOT_RUN_RESULT = 'This call was not carried out.';
const SUPERSEDED = 'The question was not answered: something else was sent instead.';
const CANCELLED = '[This was cancelled before it was answered.]';

interface Step {
  /** Version of the model's answer: all rows of the step have it. */
  readonly version: number;
  readonly calls: readonly ToolCall[];
  readonly startedIn: Map<string, number>;
  readonly results: Map<string, string>;
}

interface TurnRow {
  readonly message: Message;
  readonly version: number;
}

interface Turn {
  readonly requested: EventData<'turn.requested'>;
  input: string;
  superseded: number;
  generation: number | null;
  rows: TurnRow[];
  step: Step | null;
  /** The model's text without tool calls: its answer, until the final response takes its place. */
  said: string | null;
  over: boolean;
  withdrawn: boolean;
}

interface Conversation {
  readonly turns: ReadonlyMap<number, Turn>;
  readonly ended: boolean;
  readonly compressed: EventData<'context.compressed'> | null;
}

export function transcript(events: readonly StreamEvent[]): Message[] {
  return rowsOf(read(events));
}

/** What a summary could take the place of. */
export interface Compressible {
  /** The rows that it would be made of, oldest first: with the input of the turn under way. */
  readonly older: readonly Message[];
  /** Those of them that are not there any more afterwards. None: only a shorter input can help. */
  readonly replaced: readonly Message[];
  readonly throughVersion: number;
  /** The turn's input, as it was given. */
  readonly input: string;
  /** It stands shortened already. */
  readonly inputShortened: boolean;
}

/**
 * The older part of the conversation: everything before the last steps of the turn under way that `keeps` says are
 * to stay as they are. Null when no turn is under way.
 */
export function compressible(
  events: readonly StreamEvent[],
  turnNumber: number,
  keeps: (rows: readonly Message[]) => boolean,
): Compressible | null {
  const conversation = read(events);
  const turn = conversation.turns.get(turnNumber);
  if (turn === undefined || turn.over) return null;
  closeStep(turn);
  const before = conversation.compressed?.turn === turnNumber ? conversation.compressed : null;
  const rows = turn.rows.filter(({ version }) => version > (before?.through_version ?? 0));
  const versions = [...new Set(rows.map(({ version }) => version))];
  const since = (version: number) => rows.filter((row) => row.version >= version).map((row) => row.message);
  const firstKept = versions.find((version) => keeps(since(version)));
  const kept = firstKept === undefined ? [] : since(firstKept);
  const all = rowsOf(conversation);
  const older = all.slice(0, all.length - kept.length);
  return {
    older,
    replaced: older.filter((row) => row.role !== 'user' || row.turn !== turnNumber),
    throughVersion:
      versions.findLast((version) => version < (firstKept ?? Infinity)) ?? before?.through_version ?? 0,
    input: inputOf(turn),
    inputShortened: (before?.input ?? null) !== null,
  };
}

function read(events: readonly StreamEvent[]): Conversation {
  const turns = new Map<number, Turn>();
  let compressed: Conversation['compressed'] = null;
  const questions = new Map<string, { turn: number; callId: string }>();
  const settle = (question: string, result: object): void => {
    const asked = questions.get(question);
    if (asked === undefined) return;
    turns.get(asked.turn)?.step?.results.set(asked.callId, JSON.stringify(result));
  };
  let ended = false;
  let fenceSeed: string | null = null;

  for (const event of events) {
    const fact = event as RecordedFact;
    switch (fact.type) {
      case 'session.created':
        fenceSeed = fact.data.fence_seed ?? null;
        break;
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
        modelResponded(turns.get(fact.data.turn), fact.data, event.version);
        break;
      case 'context.compressed':
        compressed = fact.data;
        break;
      case 'tool.started':
        turns.get(fact.data.turn)?.step?.startedIn.set(fact.data.call_id, fact.data.generation);
        break;
      case 'tool.finished':
        turns.get(fact.data.turn)?.step?.results.set(fact.data.call_id, resultText(fact.data, fenceSeed));
        break;
      case 'clarification.requested':
        questions.set(fact.data.clarification_id, { turn: fact.data.turn, callId: fact.data.call_id });
        break;
      case 'clarification.answered':
        settle(fact.data.clarification_id, { answer: fact.data.answer });
        break;
      case 'clarification.timed-out':
        settle(fact.data.clarification_id, { answer: null, timed_out: true });
        break;
      case 'clarification.superseded':
        settle(fact.data.clarification_id, { answer: null, superseded: true, reason: SUPERSEDED });
        break;
      case 'session.final-response': {
        const { text: content, outcome, silent } = fact.data;
        close(turns.get(fact.data.turn), { role: 'assistant', content, outcome, silent }, event.version);
        break;
      }
      case 'run.cancelled':
        if (fact.data.turn !== null) {
          const cancelled: Message = { role: 'assistant', content: CANCELLED, outcome: 'cancelled' };
          close(turns.get(fact.data.turn), cancelled, event.version);
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
  return { turns, ended, compressed };
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

function modelResponded(turn: Turn | undefined, data: EventData<'model.responded'>, version: number): void {
  if (turn === undefined) return;
  closeStep(turn);
  const content = turn.said === null ? data.text : `${turn.said}\n\n${data.text}`;
  if (data.tool_calls.length === 0) {
    turn.said = content;
    return;
  }
  turn.said = null;
  turn.rows.push({ message: { role: 'assistant', content, tool_calls: data.tool_calls }, version });
  turn.step = { version, calls: data.tool_calls, startedIn: new Map(), results: new Map() };
}

function close(turn: Turn | undefined, answer: Message, version: number): void {
  if (turn === undefined || turn.over) return;
  closeStep(turn);
  turn.rows.push({ message: answer, version });
  turn.said = null;
  turn.over = true;
}

/** The conversation went on: a call that has no result by now will not get one. */
function closeStep(turn: Turn): void {
  const step = turn.step;
  if (step === null) return;
  for (const call of step.calls) {
    const missing = step.startedIn.has(call.id) ? UNKNOWN_RESULT : NOT_RUN_RESULT;
    const message = resultRow(call, step.results.get(call.id) ?? missing);
    turn.rows.push({ message, version: step.version });
  }
  turn.step = null;
}

function rowsOf({ turns, ended, compressed }: Conversation): Message[] {
  const rows: Message[] = [];
  for (const turn of turns.values()) {
    // Queued behind a cancelled turn and never answered: nobody will.
    if (turn.withdrawn || (ended && !turn.over)) continue;
    const number = turn.requested.turn;
    // Turns before the one in which it was compressed are all over, and in the summary.
    if (compressed !== null && number < compressed.turn) continue;
    const summary = compressed?.turn === number ? compressed : null;
    if (summary === null) rows.push(...(turn.requested.history ?? []));
    rows.push({
      role: 'user',
      content: summary === null ? inputOf(turn) : summarised(turn, summary),
      turn: number,
    });
    const shown = turn.rows.filter(({ version }) => version > (summary?.through_version ?? 0));
    for (const row of [...shown.map(({ message }) => message), ...underWay(turn, summary)])
      rows.push({ ...row, turn: number });
    if (!turn.over) break;
  }
  return rows;
}

/** What the last step of the turn under way has so far; a call that an earlier run began is unknown to this one. */
function underWay(turn: Turn, summary: Conversation['compressed']): Message[] {
  if (turn.said !== null) return [{ role: 'assistant', content: turn.said }];
  const step = turn.step;
  if (step === null || step.version <= (summary?.through_version ?? 0)) return [];
  return step.calls.flatMap((call) => {
    const result = step.results.get(call.id);
    if (result !== undefined) return [resultRow(call, result)];
    const startedIn = step.startedIn.get(call.id);
    const lost = startedIn !== undefined && turn.generation !== null && startedIn < turn.generation;
    return lost ? [resultRow(call, UNKNOWN_RESULT)] : [];
  });
}

/** Whose results are JSON that we made: what a command printed is a quoted text in it, which it cannot end. */
const JSON_TOOLS: readonly string[] = ['terminal', 'process', 'clarify'];

/** Whether what the tool answers is its own words, as it wrote them. */
export function resultsAreFenced(tool: string): boolean {
  return !JSON_TOOLS.includes(tool);
}

function resultText({ tool, turn, result }: EventData<'tool.finished'>, fenceSeed: string | null): string {
  if (fenceSeed === null || !resultsAreFenced(tool)) return result;
  return fenced(result, markOf(fenceSeed, turn), 'alone');
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

const SUMMARISED =
  '[To save room, the conversation before this and the steps that were already taken are left out here. ' +
  'This is a summary of them, written by you. Go on from there.]';

/** One row, so that roles alternate; the input first, since the summary tells what was done about it as well. */
function summarised(turn: Turn, { input, summary }: EventData<'context.compressed'>): string {
  return `${input ?? inputOf(turn)}\n\n${SUMMARISED}\n\n${summary}`;
}
