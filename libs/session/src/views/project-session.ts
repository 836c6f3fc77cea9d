import type { Outcome, RecordedFact } from '@angelia/contracts';
import { evolve } from '../evolve.ts';
import { agenda } from '../recovery/agenda.ts';
import {
  initialState,
  type OpenOutput,
  type SessionState,
  type SessionStatus,
  type StreamEvent,
  sessionStatus,
  waitingFor,
  waitingSince,
} from '../state.ts';
import { failureOf, processSummary } from './session-summary.ts';

/**
 * The rows of the read models, made from the stored state and the events since then. The result has only the deliveries and
 * processes that these events touch. The rows do not depend on how the events are split into batches (invariant
 * views-are-disposable).
 */
interface SessionViews {
  readonly state: SessionState;
  readonly session: SessionViewRow;
  readonly deliveries: readonly DeliveryViewRow[];
  readonly processes: readonly ProcessViewRow[];
}

interface SessionViewRow {
  readonly version: number;
  readonly route: string;
  readonly status: SessionStatus;
  readonly outcome: Outcome | null;
  readonly agent: string;
  readonly model: string | null;
  /** The code of the failure. */
  readonly failure: string | null;
  readonly title: string;
  readonly deliveryId: string;
  /** Of both kinds. */
  readonly tokens: number;
  readonly waitingFor: ReturnType<typeof waitingFor>;
  readonly waitingSince: number | null;
  /** The session that it continues. */
  readonly continues: string | null;
  readonly createdAt: number;
  readonly lastActivityAt: number;
  readonly endedAt: number | null;
  readonly runDueAt: number | null;
  readonly running: boolean;
  readonly deliveryDueAt: number | null;
  readonly processDueAt: number | null;
  readonly settled: boolean;
}

export interface DeliveryViewRow {
  readonly output: number;
  readonly kind: OpenOutput['kind'];
  /** Name of the target that it goes or went to. */
  readonly target: string;
  readonly status: 'pending' | 'delivered' | 'dead' | 'dropped';
  readonly attempts: number;
  readonly dueAt: number | null;
  readonly updatedAt: number;
  readonly detail: {
    readonly kind: OpenOutput['kind'];
    readonly turn: number;
    readonly via: OpenOutput['via'];
    readonly reason: string | null;
    readonly receipt: string | null;
    readonly possible_duplicate: boolean;
    readonly recorded_at: number;
  };
}

export interface ProcessViewRow {
  readonly processId: string;
  readonly status: 'running' | 'exited' | 'lost';
  readonly updatedAt: number;
  readonly detail: ReturnType<typeof processDetail>;
}

/**
 * Implements `ProjectSession` of libs/event-log. `previous` is the `state` that an earlier call returned, or null.
 * @param onEvent called with each event and the state before and after it, so that the caller need not fold again
 */
export function projectSession(
  previous: unknown,
  events: readonly StreamEvent[],
  onEvent?: (before: SessionState, event: StreamEvent, after: SessionState) => void,
): SessionViews {
  let state = (previous ?? initialState()) as SessionState;
  const deliveries = new Map<number, DeliveryViewRow>();
  const processes = new Map<string, ProcessViewRow>();
  for (const event of events) {
    const before = state;
    state = evolve(before, event);
    onEvent?.(before, event, state);
    const delivery = deliveryRow(before, state, event);
    if (delivery !== null) deliveries.set(delivery.output, delivery);
    const process = processRow(state, event);
    if (process !== null) processes.set(process.processId, process);
  }
  return {
    state,
    session: sessionRow(state),
    deliveries: [...deliveries.values()],
    processes: [...processes.values()],
  };
}

function sessionRow(state: SessionState): SessionViewRow {
  const due = agenda(state);
  return {
    version: state.version,
    route: state.created?.route ?? '',
    status: sessionStatus(state),
    outcome: state.ended?.outcome ?? null,
    agent: state.created?.agent ?? '',
    model: state.model,
    failure: failureOf(state)?.code ?? null,
    title: state.created?.title ?? '',
    deliveryId: state.created?.deliveryId ?? '',
    tokens: state.usage.input_tokens + state.usage.output_tokens,
    waitingFor: waitingFor(state),
    waitingSince: waitingSince(state),
    continues: state.created?.continues ?? null,
    createdAt: state.created?.at ?? state.lastActivityAt,
    lastActivityAt: state.lastActivityAt,
    endedAt: state.ended?.at ?? null,
    runDueAt: due.run,
    running: due.running,
    deliveryDueAt: due.delivery,
    processDueAt: due.process,
    settled: due.settled,
  };
}

function deliveryRow(before: SessionState, after: SessionState, event: StreamEvent): DeliveryViewRow | null {
  const fact = event as RecordedFact;
  let number: number;
  let receipt: string | null = null;
  let reason: string | null = null;
  switch (fact.type) {
    case 'session.interim-status':
    case 'clarification.requested':
    case 'approval.requested':
    case 'session.final-response':
      number = event.version;
      break;
    case 'delivery.succeeded':
      number = fact.data.output;
      receipt = fact.data.receipt ?? null;
      break;
    case 'delivery.dropped':
      number = fact.data.output;
      reason = fact.data.reason;
      break;
    case 'delivery.attempted':
    case 'delivery.chunk-taken':
    case 'delivery.failed':
    case 'delivery.dead':
    case 'delivery.retry-requested':
      number = fact.data.output;
      break;
    default:
      return null;
  }
  const byNumber = (output: OpenOutput) => output.output === number;
  const open = after.outputs.find(byNumber);
  // If this event settled the output, use its previous state. If it is in neither, it is a silent answer: no delivery.
  const output = open ?? before.outputs.find(byNumber);
  if (output === undefined || after.created === null) return null;
  const { deliver, fallbackTarget } = after.created;
  const settled = fact.type === 'delivery.succeeded' ? 'delivered' : 'dropped';
  return {
    output: number,
    kind: output.kind,
    target: output.via === 'fallback_target' ? (fallbackTarget?.target ?? deliver.target) : deliver.target,
    status: open === undefined ? settled : open.status === 'dead' ? 'dead' : 'pending',
    attempts: output.attempts,
    dueAt: open === undefined || open.status === 'dead' ? null : open.until,
    updatedAt: event.recordedAt,
    detail: {
      kind: output.kind,
      turn: output.turn,
      via: output.via,
      reason: reason ?? output.reason,
      receipt,
      possible_duplicate: output.unknown,
      recorded_at: output.recordedAt,
    },
  };
}

function processRow(state: SessionState, event: StreamEvent): ProcessViewRow | null {
  const fact = event as RecordedFact;
  switch (fact.type) {
    case 'process.started':
    case 'process.matched':
    case 'process.exited':
    case 'process.lost':
    case 'process.kill-requested':
    case 'process.completion-consumed': {
      const process = state.processes.find((p) => p.processId === fact.data.process_id);
      if (process === undefined) return null;
      return {
        processId: process.processId,
        status: process.status,
        updatedAt: event.recordedAt,
        detail: processDetail(process),
      };
    }
    default:
      return null;
  }
}

/** What the API shows, and what the watcher of that host needs to recognise its process after a restart. */
function processDetail(process: SessionState['processes'][number]) {
  return {
    ...processSummary(process),
    boot_id: process.bootId,
    pid_start_time: process.pidStartTime,
    cwd: process.cwd,
    consumed: process.consumed,
    watcher: process.watcher ?? null,
  };
}
