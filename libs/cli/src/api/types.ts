import type { ProcessSummary, SessionSummary } from '@angelia/session';

/** The answers of the API (GET /openapi.json), as far as commands read them. */
export type Session = SessionSummary;

export interface Page<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

export interface SessionEvent {
  readonly position: number;
  readonly version: number;
  readonly type: string;
  readonly recorded_at: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>>;
}

export interface Message {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly content: string;
  readonly tool_calls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly tool_call_id?: string;
  readonly turn?: number;
  readonly outcome?: string;
  readonly silent?: boolean;
}

export interface OpenQuestion {
  readonly session_id: string;
  readonly clarification_id: string;
  readonly title: string;
  readonly route: string;
  readonly question: string;
  readonly choices: readonly string[];
  readonly asked_at: string;
  readonly deadline: string;
}

export interface OpenApproval {
  readonly id: string;
  readonly session_id: string;
  readonly title: string;
  readonly route: string;
  readonly agent: string;
  readonly tool: string;
  readonly arguments: string;
  readonly shown: { readonly command: string | null; readonly others: string | null };
  readonly digest: string;
  readonly approvers: readonly string[];
  readonly asked_at: string;
  readonly expires_at: string;
}

export interface Figure {
  readonly count: number;
  readonly exact: boolean;
}

export interface Overview {
  readonly sessions: {
    readonly queued: Figure;
    readonly running: Figure;
    readonly waiting_for: {
      readonly person: Figure;
      readonly approval: Figure;
      readonly model: Figure;
      readonly process: Figure;
    };
  };
  readonly last_hour: {
    readonly failed: Figure;
    readonly expired: Figure;
    readonly dead_deliveries: Figure;
    readonly refused_webhooks: Figure;
  };
  readonly dead_letters: Figure;
}

export interface System {
  readonly services: readonly {
    readonly service: string;
    readonly instance: string;
    readonly version: string;
    readonly status: string;
    readonly seen_at: string;
    readonly leads: readonly string[];
  }[];
  readonly lag: { readonly tail_ms: number; readonly relay_ms: number; readonly views_ms: number };
  readonly migrations: { readonly applied: number; readonly needed: number };
  readonly config: { readonly file: string; readonly in_force: string; readonly problems: readonly string[] };
  readonly models_down: readonly { readonly model: string; readonly code: string }[];
  readonly targets_down: readonly { readonly target: string; readonly reason: string | null }[];
}

export interface RoutePreview {
  readonly outcome: string;
  readonly reason: string | null;
  readonly problems: readonly { readonly place: string; readonly message: string }[];
  readonly event: string | null;
  readonly delivery_id: string | null;
  readonly filters: readonly { readonly passes: boolean; readonly detail: string }[];
  readonly prompt: string | null;
  readonly title: string | null;
  readonly deliver: object | null;
}

export interface TestedWebhook {
  readonly status: string;
  readonly session_id: string | null;
  readonly detail: string | null;
}

export interface Delivery {
  readonly id: string;
  readonly session_id: string;
  readonly output: number;
  readonly kind: string;
  readonly target: string;
  readonly via: string;
  readonly status: string;
  readonly attempts: number;
  readonly next_attempt_at: string | null;
  readonly reason: string | null;
  readonly receipt: string | null;
  readonly possible_duplicate: boolean;
  readonly updated_at: string;
}

export interface DeadLetter {
  readonly id: string;
  readonly stream_id: string;
  readonly version: number;
  readonly handler: string;
  readonly reason: string;
  readonly recorded_at: string;
}

export type Process = ProcessSummary & { readonly session_id: string };

export interface ProcessOutput {
  readonly id: string;
  readonly status: string;
  readonly output: string;
  readonly offset: number;
  readonly next_offset: number;
  readonly kept_from: number;
  readonly at_end: boolean;
}

export interface Route {
  readonly name: string;
  readonly path: string;
  readonly source: 'config' | 'api';
  readonly status: string;
  readonly problem: string | null;
  readonly authenticated: boolean;
  readonly definition: Readonly<Record<string, unknown>>;
  readonly revision: number | null;
  readonly updated_at: string | null;
  /** Only in the answer to the call that created it. */
  readonly secret?: string;
}

export interface UnstartedWebhook {
  readonly received_at: string;
  readonly route: string | null;
  readonly outcome: string;
  readonly reason: string;
  readonly status: number;
  readonly event: string | null;
  readonly delivery_id: string | null;
  readonly session_id: string | null;
  readonly requested_route: string | null;
  readonly detail: string | null;
  readonly source: string | null;
}

export interface UnstartedCount {
  readonly route: string | null;
  readonly outcome: string;
  readonly reason: string;
  readonly count: number;
  readonly first_at: string;
  readonly last_at: string;
}

export interface SessionRef {
  readonly session_id: string;
}

export interface RequestedJob {
  /** Null for a dry run. */
  readonly job_id: string | null;
  readonly matches: number;
  readonly matches_exact: boolean;
  /** The first ten: sessions, deliveries or dead letters. */
  readonly sample: readonly unknown[];
}

export interface Job {
  readonly job_id: string;
  readonly action: string;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly status: 'queued' | 'running' | 'cancelling' | 'cancelled' | 'finished';
  readonly matches: number;
  readonly matches_exact: boolean;
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
  readonly skips: Readonly<Record<string, number>>;
  readonly failures: readonly { readonly id: string; readonly reason: string }[];
  readonly requested_by: string;
  readonly requested_at: string;
  readonly started_at: string | null;
  readonly updated_at: string;
  readonly ended_at: string | null;
}
