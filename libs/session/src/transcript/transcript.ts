import type { EventData, Outcome, RecordedFact, ToolCall, TranscriptMessage } from '@angelia/contracts';
import type { SessionState, StreamEvent } from '../state.ts';
import { fenced, markOf } from './untrusted-text.ts';

/**
 * The conversation as the model sees it, made only of recorded events (seed 003).
 *
 * Turns appear in order, each with its input, its steps and its answer. A turn does not appear before the previous one is
 * over, so that roles alternate however many messages are queued (D8). An answer is one row: the final response replaces
 * the model's own last text, of which it is a copy. Within a step every call has one result, in the order of the calls:
 * the recorded result, the answer to the question, or a note that it is unknown. There is no row that says that a run
 * was resumed (C4): see `resumeNote`. A compressed conversation begins with the input of the turn that compressed it,
 * and the summary.
 */
export interface Message extends TranscriptMessage {
  readonly turn?: number;
  /** Only on the row of a final response. */
  readonly outcome?: Outcome;
  readonly silent?: boolean;
}

/** C14: the model decides what to do. We do not run the call again. */
export const UNKNOWN_RESULT =
  'The outcome of this call is unknown: the work was interrupted before its result was recorded. ' +
  'It may have taken effect. Check before you do it again.';
const NOT_RUN_RESULT = 'This call was not carried out.';
const SUPERSEDED_REASON = 'The question was not answered: something else was sent instead.';
const NOT_APPROVED = 'This call was not carried out: nobody approved it in time.';
const DENIED = 'This call was not carried out: a person denied it.';
const CANCELLED_ANSWER = '[This was cancelled before it was answered.]';

interface Step {
  /** Version of the model answer. All rows of the step carry it. */
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
  /** The model's text without tool calls. It is the answer until the final response replaces it. */
  draftAnswer: string | null;
  /** The draft was cut at the model's limit, in the middle of a sentence or a word. */
  draftIsCut: boolean;
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

/** The part of the conversation that a summary can replace. */
interface Compressible {
  /** The rows to summarise, oldest first, including the input of the current turn. */
  readonly older: readonly Message[];
  /** The rows that disappear. If there are none, only a shorter input can help. */
  readonly replaced: readonly Message[];
  readonly throughVersion: number;
  /** The original input of the turn. */
  readonly input: string;
  /** The input was already shortened. */
  readonly inputShortened: boolean;
}

/**
 * The older part of the conversation: everything before the last steps of the current turn that `keeps` wants to keep.
 * Null if that turn is over.
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
  // An answer that was cut is the last row. It stays: the next step goes on with it.
  const draft = turn.draftAnswer === null ? 0 : 1;
  const older = all.slice(0, all.length - kept.length - draft);
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
  const closeQuestion = (question: string, result: object): void => {
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
        closeQuestion(fact.data.clarification_id, { answer: fact.data.answer });
        break;
      case 'clarification.timed-out':
        closeQuestion(fact.data.clarification_id, { answer: null, timed_out: true });
        break;
      case 'clarification.superseded':
        closeQuestion(fact.data.clarification_id, {
          answer: null,
          superseded: true,
          reason: SUPERSEDED_REASON,
        });
        break;
      case 'approval.requested':
        questions.set(fact.data.approval_id, { turn: fact.data.turn, callId: fact.data.call_id });
        break;
      case 'approval.decided': {
        const { approval_id, decision, reason = null } = fact.data;
        if (decision === 'deny') {
          closeQuestion(approval_id, { error: DENIED, denied: true, ...(reason === null ? {} : { reason }) });
        }
        break;
      }
      case 'approval.expired':
        closeQuestion(fact.data.approval_id, { error: NOT_APPROVED, expired: true });
        break;
      case 'session.final-response': {
        const { text: content, outcome, silent } = fact.data;
        close(turns.get(fact.data.turn), { role: 'assistant', content, outcome, silent }, event.version);
        break;
      }
      case 'run.cancelled':
        if (fact.data.turn !== null) {
          const cancelled: Message = { role: 'assistant', content: CANCELLED_ANSWER, outcome: 'cancelled' };
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
        // Deliveries, processes and failures have no rows of their own.
        break;
    }
  }
  return { turns, ended, compressed };
}

/**
 * The model answer that a lost run recorded before it could record the final response. The next run finishes the turn with
 * it and does not call the model again. Null: the current turn has none.
 */
export function pendingAnswer(events: readonly StreamEvent[]): string | null {
  const last = transcript(events).at(-1);
  return last?.role === 'assistant' && last.outcome === undefined && last.tool_calls === undefined
    ? last.content
    : null;
}

/** The answer so far, if it was cut at the model's limit and the next step goes on with it. Null: there is none. */
export function cutAnswer(events: readonly StreamEvent[]): string | null {
  const last = events.findLast(({ type }) => type === 'model.responded');
  const { to_be_continued = false } = (last?.data ?? {}) as Partial<EventData<'model.responded'>>;
  return to_be_continued ? pendingAnswer(events) : null;
}

/** Added to the prompt of a resumed run: one note, however often the run was resumed (C4, C9). */
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
    draftAnswer: null,
    draftIsCut: false,
    over: false,
    withdrawn: false,
  };
}

function modelResponded(turn: Turn | undefined, data: EventData<'model.responded'>, version: number): void {
  if (turn === undefined) return;
  closeStep(turn);
  const between = turn.draftIsCut ? '' : '\n\n';
  const content = turn.draftAnswer === null ? data.text : `${turn.draftAnswer}${between}${data.text}`;
  turn.draftIsCut = data.to_be_continued === true;
  if (data.tool_calls.length === 0) {
    turn.draftAnswer = content;
    return;
  }
  turn.draftAnswer = null;
  turn.rows.push({ message: { role: 'assistant', content, tool_calls: data.tool_calls }, version });
  turn.step = { version, calls: data.tool_calls, startedIn: new Map(), results: new Map() };
}

function close(turn: Turn | undefined, answer: Message, version: number): void {
  if (turn === undefined || turn.over) return;
  closeStep(turn);
  turn.rows.push({ message: answer, version });
  turn.draftAnswer = null;
  turn.over = true;
}

/** The conversation went on, so a call without a result will not get one. */
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
    // Queued behind a cancelled turn: nobody will answer it.
    if (turn.withdrawn || (ended && !turn.over)) continue;
    const number = turn.requested.turn;
    // All turns before the compression are over and part of the summary.
    if (compressed !== null && number < compressed.turn) continue;
    const summary = compressed?.turn === number ? compressed : null;
    if (summary === null) rows.push(...(turn.requested.history ?? []));
    rows.push({
      role: 'user',
      content: summary === null ? inputOf(turn) : summarised(turn, summary),
      turn: number,
    });
    const shown = turn.rows.filter(({ version }) => version > (summary?.through_version ?? 0));
    for (const row of [...shown.map(({ message }) => message), ...currentStepRows(turn, summary)])
      rows.push({ ...row, turn: number });
    if (!turn.over) break;
  }
  return rows;
}

/** The results of the current step so far. A call that an earlier run started has an unknown outcome. */
function currentStepRows(turn: Turn, summary: Conversation['compressed']): Message[] {
  if (turn.draftAnswer !== null) return [{ role: 'assistant', content: turn.draftAnswer }];
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

/** The results of these tools are JSON that we write. Output of a command is a quoted string in it and cannot break out. */
const JSON_TOOLS: readonly string[] = ['terminal', 'process', 'clarify'];

/** Whether the result is text that the tool wrote itself. */
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

const SUMMARY_NOTE =
  '[To save room, the conversation before this and the steps that were already taken are left out here. ' +
  'This is a summary of them, written by you. Go on from there.]';

/** One row, so that roles alternate. The input comes first, because the summary also says what was done about it. */
function summarised(turn: Turn, { input, summary }: EventData<'context.compressed'>): string {
  return `${input ?? inputOf(turn)}\n\n${SUMMARY_NOTE}\n\n${summary}`;
}
