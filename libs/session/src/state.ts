import type { DeliveryTarget, EventData, Outcome } from '@angelia/contracts';

/** The part of an event that folding needs. A `RecordedEvent` is one. Unknown types are ignored. */
export interface StreamEvent {
  readonly type: string;
  readonly data: unknown;
  readonly version: number;
  readonly recordedAt: number;
  readonly meta?: { readonly traceparent?: string | undefined };
}

/**
 * What a session's events amount to: everything that `decide`, `recover`, `deliveryPlan` and `agenda` need, and no more.
 *
 * It is plain JSON: the projection stores it as jsonb and continues from it. It is small: of things that are over only a
 * count stays (answered turns, delivered outputs, closed calls). It holds no long texts. To see what was said, read the
 * events (`transcript`).
 *
 * The life of a session:
 *
 *   (nothing) --session.created + turn.requested--> queued
 *   queued  --run.started--> running           a runner holds generation n
 *   running --run.interrupted--> queued        a drain, or an outage of Postgres or NATS
 *   running --run.put-off--> waiting           no model can be used now --run.started at retry_at--> running
 *   running --run.started--> running           takeover: generation n + 1; appends of n are refused from now on
 *   running --clarification.requested--> waiting --answered | timed-out | superseded--> queued
 *   running --approval.requested--> waiting --decided | expired--> queued
 *   running --session.final-response--> queued (another turn is queued)
 *                                     | waiting (a watched process is alive) --process.exited + turn.requested--> queued
 *                                     | ended (session.ended in the same append)
 *   any     --session.ended--> ended           cancelled, expired, or nothing more can come
 *
 * Each output has a life of its own (deliveries/delivery-plan.ts), which may last longer than the session.
 */
export interface SessionState {
  /** Version of the last applied event. 0: there is no such session. */
  readonly version: number;
  /** recorded_at of that event. */
  readonly lastActivityAt: number;
  readonly created: CreatedFacts | null;
  readonly ended: EndedFacts | null;
  /** The n-th `run.started` opens generation n: the fence of invariant single-owner. */
  readonly generation: number;
  readonly run: OpenRun | null;
  /** Number of the last requested turn. */
  readonly lastTurn: number;
  /** Turns without a final response, in order. Only the first may run. */
  readonly turns: readonly OpenTurn[];
  /** The turn that was answered last. */
  readonly answered: { readonly turn: number; readonly outcome: Outcome; readonly at: number } | null;
  /** Why the last turn failed or expired. Null: it did not. Missing in states stored by older versions. */
  readonly failure?: Failure | null;
  readonly clarification: OpenClarification | null;
  /** Missing in states stored by older versions, like the two below. */
  readonly approval?: OpenApproval | null;
  /** Number of approvals that were requested. */
  readonly approvals?: number;
  /** What was approved for the whole session. */
  readonly approvedRules?: readonly ApprovedRule[];
  /** Outputs that are neither delivered nor dropped, in log order. Dead ones stay, because a retry may revive them. */
  readonly outputs: readonly OpenOutput[];
  /** Delivered questions that have buttons. Missing in states stored by older versions. */
  readonly shown?: readonly ShownQuestion[];
  /** Version of the last output that is meant for the target. */
  readonly lastOutput: number;
  readonly delivered: number;
  readonly dropped: number;
  readonly processes: readonly ProcessState[];
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  /** The last answer was cut at the model's limit. Missing in states stored by older versions: no. */
  readonly answerCut?: boolean;
  /** Config name of the model that answered last. */
  readonly model: string | null;
  /** The process-watcher that has the session's files. Missing in states stored by older versions. */
  readonly watcher?: string | null;
  /** Delivery ids of the last turns and coalesced webhooks, so that the same webhook or message is taken once. */
  readonly recentDeliveryIds: readonly string[];
}

/** Only the outermost object may be written to. Everything below it is shared with older states: replace it. */
export type StateDraft = { -readonly [K in keyof SessionState]: SessionState[K] };

/** Captured when the webhook was accepted, never changed afterwards (invariant config-is-a-fact). */
interface CreatedFacts {
  readonly at: number;
  readonly route: string;
  readonly event: string | null;
  readonly deliveryId: string;
  readonly title: string;
  readonly agent: string;
  readonly toolsets: readonly string[] | null;
  readonly skills: readonly string[];
  readonly deliver: DeliveryTarget;
  readonly fallbackTarget: DeliveryTarget | null;
  readonly interim: 'message' | 'edit' | 'off';
  readonly deliverOnly: boolean;
  readonly sessionKey: string | null;
  /** For the answer to a command in a chat: the session that it is about. */
  readonly about?: string;
  readonly continues: string | null;
  /** The first session of the conversation. Missing if this is the first one. */
  readonly conversationId?: string;
  readonly startAfter: number | null;
  readonly queueDeadline: number | null;
  /** Most runs of the route at the same time, over all runners. */
  readonly maxConcurrency: number | null;
  /** The route was made through the API. */
  readonly apiRoute?: boolean;
  /** What its tools may do without asking. Missing: whatever is granted. */
  readonly tools?: EventData<'session.created'>['tools'];
  /** Bounds of the files that its answers may bring along. Missing: they bring none. */
  readonly deliverFiles?: EventData<'session.created'>['deliver_files'];
  /** Seed of the marks around untrusted text (transcript/untrusted-text.ts). */
  readonly fenceSeed?: string;
  /** From the append of `session.created`: the trace that the whole session belongs to (invariant one-trace). */
  readonly traceparent: string | null;
  /** Where the first turn came from. Names the reason of the end. */
  readonly origin: TurnSource;
}

export type TurnSource = EventData<'turn.requested'>['source'];

/** What a notice says about a process, and what the process printed. */
export interface Notice {
  readonly head: string;
  readonly output: string;
}

export type NoticeKind = NonNullable<EventData<'turn.requested'>['notice']>['kind'];

interface EndedFacts {
  readonly at: number;
  readonly outcome: Outcome;
  readonly reason: string;
  readonly detail: string | null;
}

export interface Failure {
  /** Stable: the code of `run.failed`. */
  readonly code: string;
  /** For the operator, shortened. The event has all of it. */
  readonly message: string;
}

export interface OpenTurn {
  readonly turn: number;
  readonly source: TurnSource;
  readonly requestedAt: number;
  readonly notice: { readonly processId: string; readonly kind: NoticeKind } | null;
  readonly startAfter: number | null;
  readonly queueDeadline: number | null;
  /** Number of earlier webhooks that the input replaced. */
  readonly superseded: number;
  /** Time of the first `run.started`. Null: queued and never started. */
  readonly startedAt: number | null;
  /** Time of the last event that shows somebody working on it. Null until it started: never read as fresh. */
  readonly lastSignAt: number | null;
  /** `run.started` events since the last progress, without those that were interrupted or put off. */
  readonly attempts: number;
  /** Set while the last run of the turn is an interrupted one. */
  readonly interruptedAt: number | null;
  /** Number of model answers so far. */
  readonly step: number;
  /** The tool calls of the last model answer. */
  readonly calls: readonly OpenCall[];
  /** The last model answer asked for no tool: its final response is about to follow. */
  readonly completing: boolean;
  /** A run was put off, and no model has answered since. Missing in states stored by older versions. */
  readonly putOff?: PutOff | null;
}

/** The wait of a turn for a model, over all runs that were put off since a model last answered it. */
export interface PutOff {
  /** When the first of these runs was put off. The limit of the wait counts from here. */
  readonly since: number;
  /** Number of these runs. Selects the next pause of the schedule. */
  readonly count: number;
  readonly retryAt: number;
  /** False once the next run has started. */
  readonly waiting: boolean;
  readonly reason: EventData<'run.put-off'>['reason'];
  readonly models: readonly { readonly model: string; readonly code: string }[];
  /** The run was a resumed one, so the next one is too: a put-off run leaves no trace in the prompt. */
  readonly resumed: boolean;
}

export interface OpenCall {
  readonly id: string;
  readonly tool: string;
  /** `asked`: not started. `started`: no result yet. `waiting`: for a person. `done`: has a result. */
  readonly status: 'asked' | 'started' | 'waiting' | 'done';
  /** Generation and time of `tool.started`. */
  readonly startedIn: number | null;
  readonly startedAt: number | null;
  /** The process whose end the call waits for. Missing in states stored by older versions. */
  readonly waitsFor?: string | null;
  /** It was approved, for arguments with this digest and no others. */
  readonly approval?: { readonly id: string; readonly digest: string };
}

export interface OpenRun {
  readonly generation: number;
  readonly turn: number;
  readonly runner: string;
  readonly resumed: boolean;
  readonly attempt: number;
  readonly startedAt: number;
  /** Number of interim statuses of this run so far. */
  readonly statuses: number;
  /** How often this run compressed the conversation. Missing in states stored by older versions. */
  readonly compressions?: number;
}

export interface OpenClarification {
  readonly id: string;
  readonly turn: number;
  readonly callId: string;
  /** Version of `clarification.requested`: the question is also an output. */
  readonly output: number;
  /** When it was asked. Missing in states stored by older versions. */
  readonly askedAt?: number;
  readonly deadline: number;
  readonly onTimeout: 'end' | 'continue';
}

export interface OpenApproval {
  readonly id: string;
  readonly turn: number;
  readonly callId: string;
  readonly tool: string;
  readonly digest: string;
  readonly rule: EventData<'approval.requested'>['rule'];
  readonly approvers: readonly string[];
  /** Version of `approval.requested`: the request is also an output. */
  readonly output: number;
  readonly askedAt: number;
  readonly expiresAt: number;
}

/** An approval with the scope `session`: the calls of this tool that this rule asks about may run. */
export interface ApprovedRule {
  readonly approvalId: string;
  readonly tool: string;
  readonly rule: EventData<'approval.requested'>['rule'];
}

export type OutputKind = 'interim-status' | 'clarification' | 'approval' | 'final-response';

export interface OpenOutput {
  /** Version of the event in this stream. Together with the session id it names the output. */
  readonly output: number;
  readonly kind: OutputKind;
  readonly turn: number;
  readonly recordedAt: number;
  readonly status: 'pending' | 'attempting' | 'retry' | 'dead';
  readonly attempts: number;
  /** Failed attempts that use up the retry schedule (a flood wait does not). Starts again at the fallback target. */
  readonly failures: number;
  readonly via: 'target' | 'fallback_target';
  /** `attempting`: the deadline of the claim. `retry`: the time of the retry. Otherwise: since when it is due. */
  readonly until: number;
  /** Number of its messages that the target has taken, if it is split into several. A retry continues after them. */
  readonly taken: number;
  /** Attempts at the next message that ended with an unknown outcome: the target may have it already. */
  readonly unknowns: number;
  /** Some attempt had an unknown outcome: a part of it may be there twice. */
  readonly unknown: boolean;
  /** The fallback target was tried before somebody asked for a retry. It may have all or part of the output. */
  readonly mayBeAtFallback?: boolean;
  /** Why the last attempt failed, shortened. */
  readonly reason: string | null;
  /** Some attempt sent it with buttons. */
  readonly buttons?: boolean;
  /** Since when its turn waited for an answer. Missing in states stored by older versions. */
  readonly askedAt?: number | null;
}

/** The message of a question or a request for approval. Once that is closed, it is edited. */
export interface ShownQuestion {
  readonly output: number;
  /** Edits that failed and use up the retry schedule. */
  readonly failures: number;
  /** No edit before this time. */
  readonly until: number;
}

export interface ProcessState {
  readonly processId: string;
  readonly turn: number;
  readonly callId: string;
  readonly status: 'running' | 'exited' | 'lost';
  readonly notify: boolean;
  readonly watch: boolean;
  /** The model knows about its end (wait, log to the end, kill): no notice follows. */
  readonly consumed: boolean;
  /**
   * It ended, and the session wants to know but was not told yet. Either a call that waits for it tells the model, or a
   * notice follows when that call is given up. Missing in states stored by older versions.
   */
  readonly untold?: { readonly kind: NoticeKind; readonly notice: Notice } | null;
  readonly matches: number;
  readonly command: string;
  readonly host: string;
  readonly bootId: string;
  readonly pid: number;
  readonly pidStartTime: string;
  readonly cwd: string;
  readonly startedAt: number;
  readonly waitUntil: number;
  readonly endedAt: number | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Somebody asked through the API to end it. Missing in states stored by older versions. */
  readonly killRequested?: boolean;
  /** Instance of the watcher that started it. */
  readonly watcher?: string | null;
}

export function initialState(): SessionState {
  return {
    version: 0,
    lastActivityAt: 0,
    created: null,
    ended: null,
    generation: 0,
    run: null,
    lastTurn: 0,
    turns: [],
    answered: null,
    failure: null,
    clarification: null,
    outputs: [],
    lastOutput: 0,
    delivered: 0,
    dropped: 0,
    processes: [],
    usage: { input_tokens: 0, output_tokens: 0 },
    model: null,
    watcher: null,
    recentDeliveryIds: [],
  };
}

/** Since when somebody waits for an answer to this turn. A coalesced webhook waits from the end of its window. */
export function askedAt({ requestedAt, startAfter }: OpenTurn): number {
  return Math.max(requestedAt, startAfter ?? requestedAt);
}

export type SessionStatus = 'queued' | 'running' | 'waiting' | 'ended';

export function sessionStatus(state: SessionState): SessionStatus {
  if (state.ended !== null) return 'ended';
  if (state.run !== null) return 'running';
  return waitingFor(state) === null ? 'queued' : 'waiting';
}

/** What a session that has the status `waiting` waits for. Null: it has another status. */
export function waitingFor(state: SessionState): 'person' | 'approval' | 'model' | 'process' | null {
  if (state.created === null || state.ended !== null || state.run !== null) return null;
  if (state.clarification !== null) return 'person';
  if (openApproval(state) !== null) return 'approval';
  const head = state.turns[0];
  if (head === undefined) return 'process';
  return waitingPutOff(head) === null ? null : 'model';
}

/** Since when it waits. Null: it does not wait. */
export function waitingSince(state: SessionState): number | null {
  switch (waitingFor(state)) {
    case 'person':
      return state.clarification?.askedAt ?? state.lastActivityAt;
    case 'approval':
      return openApproval(state)?.askedAt ?? state.lastActivityAt;
    case 'model':
      return state.turns[0]?.putOff?.since ?? state.lastActivityAt;
    case 'process':
      return state.answered?.at ?? state.lastActivityAt;
    case null:
      return null;
  }
}

/** The request that waits for a decision. */
export function openApproval({ approval = null }: SessionState): OpenApproval | null {
  return approval;
}

/** The wait of the turn for a model, while no run is trying again. */
export function waitingPutOff({ putOff = null }: OpenTurn): PutOff | null {
  return putOff?.waiting === true ? putOff : null;
}

/** The part of a stored state by which a query finds the sessions whose turn was put off for this model. */
export function waitsForModel(model: string): object {
  return { turns: [{ putOff: { waiting: true, models: [{ model }] } }] };
}

/**
 * The session waits for a watched process that is alive and whose end the model does not know, and for an ended one whose
 * end was not told yet. A process that only has watch patterns can start no turn once its own turn is answered. It keeps
 * the session open nevertheless, so that messages about it still reach the session that owns it.
 */
export function keepsOpen(process: ProcessState): boolean {
  if (process.status !== 'running') return isUntold(process);
  return (process.notify || process.watch) && !process.consumed;
}

/** The session wants to know about its end and was not told yet. */
export function isUntold(process: ProcessState): boolean {
  return (process.untold ?? null) !== null;
}

/** If so, `session.ended` belongs in the same append (invariant every-session-ends). */
export function nothingMoreCanCome(state: SessionState): boolean {
  return (
    state.created !== null &&
    state.ended === null &&
    state.run === null &&
    state.turns.length === 0 &&
    state.clarification === null &&
    openApproval(state) === null &&
    !state.processes.some(keepsOpen)
  );
}

/** For display only: the event holds the whole reason or command. */
const SHORTENED_LENGTH = 200;

export function shortened(text: string, length = SHORTENED_LENGTH): string {
  // The cut may split a surrogate pair, and jsonb refuses half of one.
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`;
}
