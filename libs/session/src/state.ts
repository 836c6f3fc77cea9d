import type { DeliveryTarget, EventData, Outcome } from '@angelia/contracts';

/**
 * What a session's events amount to: all that `decide`, `recover`, `deliveryPlan` and `agenda` need, and no more.
 *
 * It is plain JSON (the projection keeps it as jsonb and goes on from it) and small: of a thing that is over only a
 * count stays (answered turns, delivered outputs, closed calls). There are no texts in it but the title: who needs
 * what was said reads the events (`transcript`).
 *
 * A session's life:
 *
 *   (nothing) --session.created + turn.requested--> queued
 *   queued  --run.started--> running           a runner holds generation n
 *   running --run.interrupted--> queued        drain, or Postgres or NATS was away
 *   running --run.started--> running           takeover: generation n + 1, what n still appends is refused
 *   running --clarification.requested--> waiting --answered | timed-out | superseded--> queued
 *   running --session.final-response--> queued (a further turn is there)
 *                                     | waiting (a watched process is alive) --process.exited + turn.requested--> queued
 *                                     | ended (session.ended in the same append)
 *   any     --session.ended--> ended           cancel, expiry, or nothing more can come
 *
 * Beside it each output goes its own way (delivery-plan.ts), also after the end.
 */
export interface SessionState {
  /** Version of the last event folded in; 0: there is no such session. */
  readonly version: number;
  /** recorded_at of that event. */
  readonly lastActivityAt: number;
  readonly created: CreatedFacts | null;
  readonly ended: EndedFacts | null;
  /** The n-th `run.started` opens generation n: the fence of invariant single-owner. */
  readonly generation: number;
  readonly run: OpenRun | null;
  /** Number of the last turn requested. */
  readonly lastTurn: number;
  /** Turns that have no final response yet, in order. The first is the one that may run. */
  readonly turns: readonly OpenTurn[];
  /** The turn that was answered last. */
  readonly answered: { readonly turn: number; readonly outcome: Outcome; readonly at: number } | null;
  readonly clarification: OpenClarification | null;
  /** Outputs that are not delivered or dropped yet, in log order; dead ones stay, since a retry may revive them. */
  readonly outputs: readonly OpenOutput[];
  /** Version of the last output that is meant for the target. */
  readonly lastOutput: number;
  readonly delivered: number;
  readonly dropped: number;
  readonly processes: readonly ProcessState[];
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  /** Name (in the config) of the model that answered last. */
  readonly model: string | null;
  /** The process-watcher that has the session's files. Not there in states that were kept before there was this. */
  readonly watcher?: string | null;
  /** Delivery ids of the last turns and coalesced webhooks: the same webhook or message is taken once. */
  readonly recentDeliveryIds: readonly string[];
}

/** Captured when the webhook was accepted, and never changed after (invariant config-is-a-fact). */
export interface CreatedFacts {
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
  readonly continues: string | null;
  readonly startAfter: number | null;
  readonly queueDeadline: number | null;
  /** So many runs of the route at once, by all runners together. */
  readonly maxConcurrency: number | null;
  /** Its route was made by API. */
  readonly apiRoute?: boolean;
  /** Of the marks around foreign text (untrusted.ts). */
  readonly fenceSeed?: string;
  /** Of the append of `session.created`: the trace that all of the session belongs to (invariant one-trace). */
  readonly traceparent: string | null;
  /** Where the first turn came from; names the reason of the end. */
  readonly origin: TurnSource;
}

export type TurnSource = EventData<'turn.requested'>['source'];
/** What is said about a process, and what it printed. */
export interface Notice {
  readonly head: string;
  readonly output: string;
}

export type NoticeKind = NonNullable<EventData<'turn.requested'>['notice']>['kind'];

export interface EndedFacts {
  readonly at: number;
  readonly outcome: Outcome;
  readonly reason: string;
  readonly detail: string | null;
}

export interface OpenTurn {
  readonly turn: number;
  readonly source: TurnSource;
  readonly requestedAt: number;
  readonly notice: { readonly processId: string; readonly kind: NoticeKind } | null;
  readonly startAfter: number | null;
  readonly queueDeadline: number | null;
  /** How many earlier webhooks the input replaced. */
  readonly superseded: number;
  /** First `run.started`; null: queued and never started. */
  readonly startedAt: number | null;
  /** Last event that shows somebody at work on it. Null until it started: never read as fresh. */
  readonly lastSignAt: number | null;
  /** `run.started` since the last progress, without those that a drain or an outage interrupted. */
  readonly attempts: number;
  /** Set while the last run of the turn is an interrupted one. */
  readonly interruptedAt: number | null;
  /** Model answers so far. */
  readonly step: number;
  /** The tool calls of the last model answer. */
  readonly calls: readonly OpenCall[];
  /** The last model answer asked for no tool: its final response is about to follow. */
  readonly completing: boolean;
}

export interface OpenCall {
  readonly id: string;
  readonly tool: string;
  /** `asked`: nobody began it. `started`: somebody did, outcome open. `waiting`: a clarification. `done`: has a result. */
  readonly status: 'asked' | 'started' | 'waiting' | 'done';
  /** Generation and time of `tool.started`. */
  readonly startedIn: number | null;
  readonly startedAt: number | null;
  /** The process whose end it waits for. Not there in states that were kept before there was this. */
  readonly waitsFor?: string | null;
}

export interface OpenRun {
  readonly generation: number;
  readonly turn: number;
  readonly runner: string;
  readonly resumed: boolean;
  readonly attempt: number;
  readonly startedAt: number;
  /** Interim statuses of this run so far. */
  readonly statuses: number;
  /** Times that this run compressed the conversation. Not there in states that were kept before there was this. */
  readonly compressions?: number;
}

export interface OpenClarification {
  readonly id: string;
  readonly turn: number;
  readonly callId: string;
  /** Version of `clarification.requested`: the question is an output too. */
  readonly output: number;
  readonly deadline: number;
  readonly onTimeout: 'end' | 'continue';
}

export type OutputKind = 'interim-status' | 'clarification' | 'final-response';

export interface OpenOutput {
  /** Version of the event in this stream: with the session's id the name of the output. */
  readonly output: number;
  readonly kind: OutputKind;
  readonly turn: number;
  readonly recordedAt: number;
  readonly status: 'pending' | 'attempting' | 'retry' | 'dead';
  readonly attempts: number;
  /** Failed attempts that spend the retry schedule (a flood wait does not); starts again at the fallback target. */
  readonly failures: number;
  readonly via: 'target' | 'fallback_target';
  /** `attempting`: the claim's deadline; `retry`: when; else since when it is due. */
  readonly until: number;
  /** Messages of it that its target has taken, when it is cut into several: a retry goes on after them. */
  readonly taken: number;
  /** Attempts of unknown outcome at what is to be sent next: it may be there already. */
  readonly unknowns: number;
  /** Some attempt ended unknown: a part of it may be there twice. */
  readonly unknown: boolean;
  /** The fallback target was tried before somebody asked for a retry, and may have it, or a part of it. */
  readonly mayBeAtFallback?: boolean;
  /** Why the last attempt failed, cut short. */
  readonly reason: string | null;
  /** Since when its turn waited for an answer. Not there in states that were kept before there was this. */
  readonly askedAt?: number | null;
}

export interface ProcessState {
  readonly processId: string;
  readonly turn: number;
  readonly callId: string;
  readonly status: 'running' | 'exited' | 'lost';
  readonly notify: boolean;
  readonly watch: boolean;
  /** Its end is known to the model (wait, log to the end, kill): no notice any more. */
  readonly consumed: boolean;
  /**
   * It ended, the session is to be told, and is not yet: a call that waits for it tells the model, or the notice comes
   * when that call is given up. Not there in states that were kept before there was this.
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
  /** Somebody asked by API that it be ended. Not there in states that were kept before there was this. */
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

/** Since when somebody waits for an answer to this turn: a webhook that is coalesced waits from the end of its window. */
export function askedAt({ requestedAt, startAfter }: OpenTurn): number {
  return Math.max(requestedAt, startAfter ?? requestedAt);
}

export type SessionStatus = 'queued' | 'running' | 'waiting' | 'ended';

export function sessionStatus(state: SessionState): SessionStatus {
  if (state.ended !== null) return 'ended';
  if (state.run !== null) return 'running';
  if (state.clarification !== null) return 'waiting';
  return state.turns.length > 0 ? 'queued' : 'waiting';
}

/**
 * A watched process that is still alive and whose end the model does not know yet: the session waits for it. One that
 * has watch patterns only can start no further turn once its own was answered; it keeps the session open all the same,
 * so that messages about it still reach the session that owns it. One that has ended and whose end is still to be told
 * keeps it open, too.
 */
export function keepsOpen(process: ProcessState): boolean {
  if (process.status !== 'running') return isUntold(process);
  return (process.notify || process.watch) && !process.consumed;
}

/** Its end was not told yet to a session that wants to know of it. */
export function isUntold(process: ProcessState): boolean {
  return (process.untold ?? null) !== null;
}

/** Then `session.ended` belongs into the same append (invariant every-session-ends). */
export function nothingMoreCanCome(state: SessionState): boolean {
  return (
    state.created !== null &&
    state.ended === null &&
    state.run === null &&
    state.turns.length === 0 &&
    state.clarification === null &&
    !state.processes.some(keepsOpen)
  );
}
