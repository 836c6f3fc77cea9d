import type { EventData, RecordedFact } from '@angelia/contracts';
import { exitNotice, lostNotice } from './processes/notices.ts';
import {
  askedAt,
  initialState,
  isUntold,
  type Notice,
  type NoticeKind,
  type OpenCall,
  type OpenOutput,
  type OpenTurn,
  type OutputKind,
  type ProcessState,
  type SessionState,
} from './state.ts';
import { isAgentTool } from './steps/agent-calls.ts';
import { ms, msOrNull, seconds } from './time.ts';

/** What folding needs of an event of the log; a `RecordedEvent` is one. Types that we do not know are ignored. */
export interface StreamEvent {
  readonly type: string;
  readonly data: unknown;
  readonly version: number;
  readonly recordedAt: number;
  readonly meta?: { readonly traceparent?: string | undefined };
}

/** Enough to recognise the repeats that a sender makes within its retries; older ones the append's key catches. */
export const REMEMBERED_IDS = 32;

/** Ended processes stay for `process list` and the API; a session that starts hundreds must not grow for ever. */
const REMEMBERED_ENDED_PROCESSES = 32;

/** Of an output that its target has nothing of yet, or a target that did not get it before. */
const STARTS_ANEW = { taken: 0, unknowns: 0 } as const;

/** Who asks for another attempt knows what may be there already: it gets a resend as after one unknown outcome. */
const MADE_UP_FOR = 1;

/** For the eye only: the whole reason or command is in the event. */
const SHORT_TEXT = 200;

/** The default of `processes.max_wait_seconds`: also a process without a deadline does not keep a session open for ever. */
const DEFAULT_PROCESS_WAIT = seconds(86_400);

/** The state with one more event in it. The given state stays as it is. */
export function evolve(state: SessionState, event: StreamEvent): SessionState {
  const draft: Draft = { ...state };
  apply(draft, event);
  return draft;
}

/** The state with many more events in it, in order: one copy for all of them. */
export function evolveAll(state: SessionState, events: readonly StreamEvent[]): SessionState {
  const draft: Draft = { ...state };
  for (const event of events) apply(draft, event);
  return draft;
}

export function fold(events: readonly StreamEvent[]): SessionState {
  return evolveAll(initialState(), events);
}

/** Only the outermost object is ours to write to: what hangs below is shared with older states and is replaced. */
type Draft = { -readonly [K in keyof SessionState]: SessionState[K] };

function apply(draft: Draft, event: StreamEvent): void {
  const at = event.recordedAt;
  draft.version = event.version;
  draft.lastActivityAt = at;
  // Written by `decide` and upcast on read: inside the system the data of a known type is trusted (no zod here,
  // every service folds streams all the time).
  const fact = event as RecordedFact;
  switch (fact.type) {
    case 'session.created':
      created(draft, fact.data, at, event.meta?.traceparent ?? null);
      break;
    case 'turn.requested':
      turnRequested(draft, fact.data, at);
      break;
    case 'webhook.coalesced':
      changeTurn(draft, fact.data.turn, (turn) => ({
        startAfter: ms(fact.data.start_after),
        queueDeadline: msOrNull(fact.data.queue_deadline) ?? turn.queueDeadline,
        superseded: turn.superseded + 1,
      }));
      draft.recentDeliveryIds = lastOf(draft.recentDeliveryIds, fact.data.delivery_id);
      break;
    case 'run.started':
      runStarted(draft, fact.data, at);
      break;
    case 'model.responded':
      modelResponded(draft, fact.data, at);
      break;
    case 'context.compressed':
      addUsage(draft, fact.data.usage);
      if (draft.run !== null)
        draft.run = { ...draft.run, compressions: fact.data.sequence ?? (draft.run.compressions ?? 0) + 1 };
      progress(draft, fact.data.turn, at);
      break;
    case 'tool.started':
      agentCalled(draft, fact.data);
      changeCall(draft, fact.data.turn, fact.data.call_id, {
        status: 'started',
        startedIn: fact.data.generation,
        startedAt: at,
        waitsFor: fact.data.waits_for ?? null,
      });
      signOfLife(draft, fact.data.turn, at);
      break;
    case 'tool.finished':
      changeCall(draft, fact.data.turn, fact.data.call_id, { status: 'done' });
      draft.watcher = fact.data.watcher ?? draft.watcher ?? null;
      progress(draft, fact.data.turn, at);
      break;
    case 'session.interim-status':
      if (draft.run !== null)
        draft.run = { ...draft.run, statuses: fact.data.sequence ?? draft.run.statuses + 1 };
      output(draft, 'interim-status', event, fact.data.turn);
      // No progress: a run that says "switching to fallback" and dies, again and again, must reach its cap.
      signOfLife(draft, fact.data.turn, at);
      break;
    case 'clarification.requested':
      clarificationRequested(draft, fact.data, event);
      break;
    case 'clarification.answered':
    case 'clarification.timed-out':
    case 'clarification.superseded':
      clarificationClosed(draft, fact.data.clarification_id, at);
      break;
    case 'session.final-response':
      finalResponse(draft, fact.data, event);
      break;
    case 'run.failed':
      if (draft.run?.turn === fact.data.turn) draft.run = null;
      break;
    case 'run.cancelled':
      closeTurn(draft, fact.data.turn);
      break;
    case 'run.interrupted':
      draft.run = null;
      changeTurn(draft, fact.data.turn, (turn) => ({
        // When the work stopped, not when that could be said: else an outage of two days were an interruption of none.
        interruptedAt: at - seconds(fact.data.silent_seconds ?? 0),
        // The attempt that it interrupted does not count.
        attempts: Math.max(0, turn.attempts - 1),
      }));
      break;
    case 'delivery.attempted':
      changeOutput(draft, fact.data.output, (o) => ({
        status: 'attempting',
        attempts: fact.data.attempt,
        via: fact.data.via,
        until: at + seconds(fact.data.deadline_seconds),
        unknowns: o.unknowns + (o.status === 'attempting' ? 1 : 0),
        unknown: o.unknown || o.status === 'attempting' || fact.data.possible_duplicate,
      }));
      break;
    case 'delivery.chunk-taken':
      changeOutput(draft, fact.data.output, () => ({
        taken: fact.data.chunk,
        unknowns: 0,
        until: at + seconds(fact.data.deadline_seconds),
      }));
      break;
    case 'delivery.failed':
      changeOutput(draft, fact.data.output, (o) => ({
        status: 'retry',
        until: ms(fact.data.retry_at),
        failures: o.failures + (fact.data.counts ? 1 : 0),
        unknowns: o.unknowns + (fact.data.unknown === true ? 1 : 0),
        unknown: o.unknown || fact.data.unknown === true,
        reason: short(fact.data.reason),
      }));
      break;
    case 'delivery.succeeded':
      if (settle(draft, fact.data.output)) draft.delivered += 1;
      break;
    case 'delivery.dropped':
      if (settle(draft, fact.data.output)) draft.dropped += 1;
      break;
    case 'delivery.dead':
      deliveryDead(draft, fact.data, at);
      break;
    case 'delivery.retry-requested':
      changeOutput(draft, fact.data.output, (o) => ({
        status: 'pending',
        via: 'target',
        failures: 0,
        until: at,
        // Back from the fallback: what the first target has of it is forgotten, not that it may have something.
        ...(o.via === 'target'
          ? {}
          : { taken: 0, mayBeAtFallback: o.mayBeAtFallback === true || o.unknowns > 0 || o.taken > 0 }),
        unknowns: Math.min(o.via === 'target' ? o.unknowns : Number(o.unknown), MADE_UP_FOR),
      }));
      break;
    case 'process.started':
      processStarted(draft, fact.data, at);
      break;
    case 'process.matched':
      changeProcess(draft, fact.data.process_id, (p) => ({
        matches: fact.data.match ?? p.matches + 1,
        watch: p.watch && !fact.data.overload,
      }));
      break;
    case 'process.exited':
      changeProcess(draft, fact.data.process_id, (p) => ({
        status: 'exited',
        endedAt: at,
        exitCode: fact.data.exit_code,
        signal: fact.data.signal,
        untold: untold(draft, p, 'exited', exitNotice(p, fact.data)),
      }));
      forgetOldProcesses(draft);
      break;
    case 'process.lost':
      changeProcess(draft, fact.data.process_id, (p) => ({
        status: 'lost',
        endedAt: at,
        untold: untold(draft, p, 'lost', lostNotice(p, fact.data)),
      }));
      forgetOldProcesses(draft);
      break;
    case 'process.kill-requested':
      changeProcess(draft, fact.data.process_id, () => ({ killRequested: true }));
      break;
    case 'process.completion-consumed':
      completionConsumed(draft, fact.data.process_id);
      break;
    case 'session.ended':
      draft.ended = {
        at,
        outcome: fact.data.outcome,
        reason: fact.data.reason,
        detail: fact.data.detail ?? null,
      };
      draft.run = null;
      draft.turns = [];
      draft.clarification = null;
      // Nothing starts after the end: nobody is told any more.
      draft.processes = draft.processes.map((p) => (isUntold(p) ? { ...p, untold: null } : p));
      break;
    default:
      // A type from a newer version: its version counts, its meaning is not ours.
      fact satisfies never;
  }
}

function created(
  draft: Draft,
  data: EventData<'session.created'>,
  at: number,
  traceparent: string | null,
): void {
  draft.created = {
    at,
    route: data.route,
    event: data.event,
    deliveryId: data.delivery_id,
    title: data.title,
    agent: data.agent,
    toolsets: data.toolsets ?? null,
    skills: data.skills ?? [],
    deliver: data.deliver,
    fallbackTarget: data.fallback_target ?? null,
    interim: data.interim ?? 'message',
    deliverOnly: data.deliver_only ?? false,
    sessionKey: data.session_key ?? null,
    continues: data.continues ?? null,
    startAfter: msOrNull(data.start_after),
    queueDeadline: msOrNull(data.queue_deadline),
    maxConcurrency: data.max_concurrency ?? null,
    ...(data.api_route ? { apiRoute: true } : {}),
    ...(data.fence_seed ? { fenceSeed: data.fence_seed } : {}),
    traceparent,
    origin: 'webhook',
  };
}

function turnRequested(draft: Draft, data: EventData<'turn.requested'>, at: number): void {
  const first = data.turn === 1 ? draft.created : null;
  if (first !== null) draft.created = { ...first, origin: data.source };
  draft.lastTurn = data.turn;
  const told = data.notice;
  if (told && told.kind !== 'matched' && told.kind !== 'overload') {
    changeProcess(draft, told.process_id, () => ({ untold: null }));
  }
  if (data.delivery_id) draft.recentDeliveryIds = lastOf(draft.recentDeliveryIds, data.delivery_id);
  draft.turns = [
    ...draft.turns,
    {
      turn: data.turn,
      source: data.source,
      requestedAt: at,
      notice: data.notice ? { processId: data.notice.process_id, kind: data.notice.kind } : null,
      startAfter: msOrNull(data.start_after) ?? first?.startAfter ?? null,
      queueDeadline: msOrNull(data.queue_deadline) ?? first?.queueDeadline ?? null,
      superseded: 0,
      startedAt: null,
      lastSignAt: null,
      attempts: 0,
      interruptedAt: null,
      step: 0,
      calls: [],
      completing: false,
    },
  ];
}

function runStarted(draft: Draft, data: EventData<'run.started'>, at: number): void {
  draft.generation = data.generation;
  draft.run = {
    generation: data.generation,
    turn: data.turn,
    runner: data.runner,
    resumed: data.resumed,
    attempt: data.attempt,
    startedAt: at,
    statuses: 0,
    compressions: 0,
  };
  changeTurn(draft, data.turn, (turn) => ({
    startedAt: turn.startedAt ?? at,
    lastSignAt: at,
    attempts: turn.attempts + 1,
    interruptedAt: null,
  }));
}

function modelResponded(draft: Draft, data: EventData<'model.responded'>, at: number): void {
  addUsage(draft, data.usage);
  draft.model = data.model;
  progress(draft, data.turn, at);
  changeTurn(draft, data.turn, () => ({
    step: data.step,
    completing: data.tool_calls.length === 0,
    // Calls of the step before that still had no result are closed by this: the model has gone on without them.
    calls: data.tool_calls.map(
      (call): OpenCall => ({
        id: call.id,
        tool: call.name,
        status: 'asked',
        startedIn: null,
        startedAt: null,
      }),
    ),
  }));
}

/** Nobody asked for this one: the turn itself is the call. */
function agentCalled(draft: Draft, data: EventData<'tool.started'>): void {
  if (!isAgentTool(data.tool)) return;
  const call: OpenCall = {
    id: data.call_id,
    tool: data.tool,
    status: 'asked',
    startedIn: null,
    startedAt: null,
  };
  changeTurn(draft, data.turn, ({ calls }) =>
    calls.some(({ id }) => id === call.id) ? {} : { calls: [...calls, call] },
  );
}

function addUsage(draft: Draft, used: SessionState['usage']): void {
  draft.usage = {
    input_tokens: draft.usage.input_tokens + used.input_tokens,
    output_tokens: draft.usage.output_tokens + used.output_tokens,
  };
}

function clarificationRequested(
  draft: Draft,
  data: EventData<'clarification.requested'>,
  event: StreamEvent,
): void {
  draft.clarification = {
    id: data.clarification_id,
    turn: data.turn,
    callId: data.call_id,
    output: event.version,
    deadline: ms(data.deadline),
    onTimeout: data.on_timeout,
  };
  // The session waits without holding a runner.
  draft.run = null;
  changeCall(draft, data.turn, data.call_id, { status: 'waiting' });
  progress(draft, data.turn, event.recordedAt);
  output(draft, 'clarification', event, data.turn);
}

function clarificationClosed(draft: Draft, id: string, at: number): void {
  const open = draft.clarification;
  if (open === null || open.id !== id) return;
  draft.clarification = null;
  changeCall(draft, open.turn, open.callId, { status: 'done' });
  progress(draft, open.turn, at);
}

function finalResponse(draft: Draft, data: EventData<'session.final-response'>, event: StreamEvent): void {
  const turn = draft.turns.find((open) => open.turn === data.turn);
  draft.answered = { turn: data.turn, outcome: data.outcome, at: event.recordedAt };
  closeTurn(draft, data.turn);
  if (!data.silent) output(draft, 'final-response', event, data.turn, turn);
}

function closeTurn(draft: Draft, turn: number | null): void {
  if (turn === null) return;
  draft.turns = draft.turns.filter((open) => open.turn !== turn);
  if (draft.run?.turn === turn) draft.run = null;
  if (draft.clarification?.turn === turn) draft.clarification = null;
}

function signOfLife(draft: Draft, turn: number, at: number): void {
  changeTurn(draft, turn, () => ({ lastSignAt: at }));
}

/** The turn came on: attempts are counted anew (C7). */
function progress(draft: Draft, turn: number, at: number): void {
  changeTurn(draft, turn, () => ({ lastSignAt: at, attempts: 0 }));
}

function output(
  draft: Draft,
  kind: OutputKind,
  event: StreamEvent,
  turn: number,
  open = draft.turns.find((candidate) => candidate.turn === turn),
): void {
  draft.lastOutput = event.version;
  draft.outputs = [
    ...draft.outputs,
    {
      output: event.version,
      kind,
      turn,
      recordedAt: event.recordedAt,
      status: 'pending',
      attempts: 0,
      failures: 0,
      via: 'target',
      until: event.recordedAt,
      ...STARTS_ANEW,
      unknown: false,
      reason: null,
      askedAt: open === undefined ? null : askedAt(open),
    },
  ];
}

function settle(draft: Draft, version: number): boolean {
  const left = draft.outputs.filter((o) => o.output !== version);
  const was = left.length < draft.outputs.length;
  draft.outputs = left;
  return was;
}

function deliveryDead(draft: Draft, data: EventData<'delivery.dead'>, at: number): void {
  const fallback = draft.created?.fallbackTarget ?? null;
  changeOutput(draft, data.output, (o) =>
    o.via === 'target' && fallback !== null
      ? {
          status: 'pending',
          via: 'fallback_target',
          failures: 0,
          until: at,
          reason: short(data.reason),
          unknown: o.unknown || o.taken > 0,
          ...STARTS_ANEW,
          // Not for the first time, where somebody asked for a retry: it may have it from before.
          unknowns: o.mayBeAtFallback ? MADE_UP_FOR : 0,
        }
      : { status: 'dead', until: at, reason: short(data.reason) },
  );
}

function processStarted(draft: Draft, data: EventData<'process.started'>, at: number): void {
  draft.watcher = data.watcher ?? draft.watcher ?? null;
  draft.processes = [
    ...draft.processes,
    {
      processId: data.process_id,
      turn: data.turn,
      callId: data.call_id,
      status: 'running',
      notify: data.notify_on_complete ?? false,
      watch: (data.watch_patterns ?? []).length > 0,
      consumed: false,
      untold: null,
      matches: 0,
      command: short(data.command),
      host: data.host,
      bootId: data.boot_id,
      pid: data.pid,
      pidStartTime: data.pid_start_time,
      cwd: data.cwd,
      startedAt: at,
      waitUntil: msOrNull(data.wait_deadline) ?? at + DEFAULT_PROCESS_WAIT,
      endedAt: null,
      exitCode: null,
      signal: null,
      watcher: data.watcher ?? null,
    },
  ];
}

/** Its end is news that somebody asked for, until it is told (by a notice) or known (consumed). */
function untold(
  draft: Draft,
  process: ProcessState,
  kind: NoticeKind,
  notice: Notice,
): ProcessState['untold'] {
  return draft.ended === null && process.notify && !process.consumed ? { kind, notice } : null;
}

function completionConsumed(draft: Draft, processId: string): void {
  changeProcess(draft, processId, () => ({ consumed: true, untold: null }));
  // A notice that still waits in the queue tells what the model now knows: it is withdrawn (no-phantom-turns).
  draft.turns = draft.turns.filter((turn) => turn.notice?.processId !== processId || turn.startedAt !== null);
}

function forgetOldProcesses(draft: Draft): void {
  const isOver = (p: ProcessState): boolean => p.status !== 'running' && !isUntold(p);
  let surplus = draft.processes.filter(isOver).length - REMEMBERED_ENDED_PROCESSES;
  if (surplus <= 0) return;
  draft.processes = draft.processes.filter((p) => !isOver(p) || surplus-- <= 0);
}

function changeTurn(draft: Draft, number: number, change: (turn: OpenTurn) => Partial<OpenTurn>): void {
  draft.turns = draft.turns.map((turn) => (turn.turn === number ? { ...turn, ...change(turn) } : turn));
}

function changeCall(draft: Draft, number: number, callId: string, change: Partial<OpenCall>): void {
  changeTurn(draft, number, (turn) => ({
    calls: turn.calls.map((call) => (call.id === callId ? { ...call, ...change } : call)),
  }));
}

function changeOutput(draft: Draft, version: number, change: (o: OpenOutput) => Partial<OpenOutput>): void {
  draft.outputs = draft.outputs.map((o) => (o.output === version ? { ...o, ...change(o) } : o));
}

function changeProcess(
  draft: Draft,
  processId: string,
  change: (process: ProcessState) => Partial<ProcessState>,
): void {
  draft.processes = draft.processes.map((p) => (p.processId === processId ? { ...p, ...change(p) } : p));
}

function lastOf(ids: readonly string[], id: string): string[] {
  return [...ids, id].slice(-REMEMBERED_IDS);
}

function short(text: string): string {
  // A cut may split a surrogate pair, and jsonb refuses half of one.
  return text.length <= SHORT_TEXT ? text : `${text.slice(0, SHORT_TEXT).toWellFormed()}…`;
}
