import type { Outcome } from '@angelia/contracts';
import {
  type Failure,
  openApproval,
  type ProcessState,
  type PutOff,
  type SessionState,
  type SessionStatus,
  sessionStatus,
  waitingFor,
  waitingPutOff,
} from '../state.ts';
import { iso } from '../time.ts';

/** A session as the API shows it (INTERFACES.md). Ids are never shortened (seed 000, A7). */
export interface SessionSummary {
  readonly id: string;
  readonly title: string;
  readonly route: string;
  readonly event: string | null;
  readonly delivery_id: string;
  readonly status: SessionStatus;
  /** Only while the status is `waiting`: what for. */
  readonly waiting_for: 'person' | 'approval' | 'model' | 'process' | null;
  /** Only while it waits for a model: when it tries again. */
  readonly retry_at: string | null;
  readonly outcome: Outcome | null;
  /** Why the last turn failed or expired, or why it waits for a model. */
  readonly failure: Failure | null;
  readonly end_reason: string | null;
  readonly created_at: string;
  readonly last_activity_at: string;
  readonly ended_at: string | null;
  readonly generation: number;
  readonly version: number;
  readonly agent: string;
  readonly model: string | null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  readonly deliver: { readonly target: string; readonly to: Readonly<Record<string, unknown>> };
  readonly deliveries: DeliveryCounts;
  readonly processes: readonly ProcessSummary[];
  readonly trace_id: string | null;
  /** Only on a continuation: the session that it continues. */
  readonly continues?: string;
  /** Only if the last answer was cut at the model's limit. */
  readonly answer_cut?: true;
  /** Only while a question is open. */
  readonly clarification?: { readonly id: string; readonly deadline: string };
  /** Only while a request for approval is open. */
  readonly approval?: { readonly id: string; readonly tool: string; readonly expires_at: string };
}

interface DeliveryCounts {
  readonly pending: number;
  readonly delivered: number;
  readonly dead: number;
  readonly dropped: number;
}

export interface ProcessSummary {
  readonly id: string;
  readonly status: ProcessState['status'];
  readonly command: string;
  readonly host: string;
  readonly pid: number;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly notify_on_complete: boolean;
  readonly watched: boolean;
}

/** Null: there is no such session. */
export function sessionSummary(id: string, state: SessionState): SessionSummary | null {
  const { created, ended } = state;
  if (created === null) return null;
  const putOff = currentPutOff(state);
  const approval = openApproval(state);
  return {
    id,
    title: created.title,
    route: created.route,
    event: created.event,
    delivery_id: created.deliveryId,
    status: sessionStatus(state),
    waiting_for: waitingFor(state),
    retry_at: putOff === null ? null : iso(putOff.retryAt),
    outcome: ended?.outcome ?? null,
    failure: failureOf(state),
    end_reason: ended?.reason ?? null,
    created_at: iso(created.at),
    last_activity_at: iso(state.lastActivityAt),
    ended_at: ended === null ? null : iso(ended.at),
    generation: state.generation,
    version: state.version,
    agent: created.agent,
    model: state.model,
    usage: state.usage,
    deliver: { target: created.deliver.target, to: created.deliver.to },
    deliveries: deliveryCounts(state),
    processes: state.processes.map(processSummary),
    trace_id: traceId(created.traceparent),
    ...(created.continues === null ? {} : { continues: created.continues }),
    ...(state.answerCut ? { answer_cut: true as const } : {}),
    ...(state.clarification === null
      ? {}
      : {
          clarification: { id: state.clarification.id, deadline: iso(state.clarification.deadline) },
        }),
    ...(approval === null
      ? {}
      : { approval: { id: approval.id, tool: approval.tool, expires_at: iso(approval.expiresAt) } }),
  };
}

/** Of the last turn, or why the session waits for a model: codes only, because the event has what the providers said. */
export function failureOf(state: SessionState): SessionSummary['failure'] {
  const putOff = currentPutOff(state);
  if (putOff === null) return state.failure ?? null;
  const { reason, models } = putOff;
  return { code: reason, message: models.map(({ model, code }) => `${model}: ${code}`).join('; ') };
}

function currentPutOff({ run, turns: [head] }: SessionState): PutOff | null {
  return run !== null || head === undefined ? null : waitingPutOff(head);
}

function deliveryCounts(state: SessionState): DeliveryCounts {
  const dead = state.outputs.filter((output) => output.status === 'dead').length;
  return {
    pending: state.outputs.length - dead,
    delivered: state.delivered,
    dead,
    dropped: state.dropped,
  };
}

export function processSummary(process: ProcessState): ProcessSummary {
  return {
    id: process.processId,
    status: process.status,
    command: process.command,
    host: process.host,
    pid: process.pid,
    started_at: iso(process.startedAt),
    ended_at: process.endedAt === null ? null : iso(process.endedAt),
    exit_code: process.exitCode,
    signal: process.signal,
    notify_on_complete: process.notify,
    watched: process.watch,
  };
}

/** The second part of a W3C traceparent. */
function traceId(traceparent: string | null): string | null {
  return traceparent?.split('-')[1] ?? null;
}
