import type { RecordedEvent } from '@angelia/contracts';

/** Rows of the read models, as the injected projection makes them. Times are in milliseconds; null means none. */
interface SessionRow {
  readonly route: string;
  readonly status: string;
  readonly outcome: string | null;
  readonly agent: string;
  readonly model: string | null;
  /** A code. */
  readonly failure: string | null;
  readonly title: string;
  readonly deliveryId: string;
  readonly tokens: number;
  /** What an open session waits for, and since when. */
  readonly waitingFor: string | null;
  readonly waitingSince: number | null;
  /** The session that it continues. */
  readonly continues: string | null;
  readonly createdAt: number;
  readonly lastActivityAt: number;
  readonly endedAt: number | null;
  /** When a run is wanted. Queued work: not later than lastActivityAt. A timer: later. Null: no run is wanted. */
  readonly runDueAt: number | null;
  /** A run is open. Without a live lease `run:<session id>` it is orphaned, and the agenda hints its owner. */
  readonly running: boolean;
  readonly deliveryDueAt: number | null;
  readonly processDueAt: number | null;
  /** Nothing happens to this session any more: it has ended, all is delivered, no process is alive. */
  readonly settled: boolean;
}

export interface DeliveryRow {
  /** Version of the output in the session's stream. */
  readonly output: number;
  readonly target: string;
  readonly status: string;
  readonly attempts: number;
  readonly dueAt: number | null;
  readonly updatedAt: number;
  /** What else the API shows (reason, receipt, kind). */
  readonly detail?: unknown;
}

export interface ProcessRow {
  readonly processId: string;
  readonly status: string;
  readonly updatedAt: number;
  /** What else the API shows (command, host, exit code). */
  readonly detail?: unknown;
}

export interface SessionViews {
  /** Kept with the row and given back as `previous`, so that the function can go on without the whole stream. */
  readonly state: unknown;
  readonly session: SessionRow;
  /** Only those that these events changed. Rows are upserted; none is deleted. */
  readonly deliveries: readonly DeliveryRow[];
  readonly processes: readonly ProcessRow[];
  /** What these events add to metrics. Not kept. See `onProjected` of the projection. */
  readonly measured?: readonly Measured[];
}

/** What the event of this version adds; the other fields are the caller's own. */
export interface Measured {
  readonly version: number;
}

/** Pure. `previous` is null for a session's first events. `events` are consecutive versions of one stream. */
export type ProjectSession = (previous: unknown, events: readonly RecordedEvent[]) => SessionViews;
