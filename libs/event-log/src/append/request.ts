import type { NewEvent } from '@angelia/contracts';

export interface StreamAppend {
  readonly streamId: string;
  /** The version of the stream's last event as the caller folded it; 0 for a new stream. */
  readonly expectedVersion: number;
  /** May be empty: then the stream's version is only checked. */
  readonly events: readonly NewEvent[];
}

/** Taken in the same transaction; refused (`leased`) while another live holder has it. */
export interface TakeLease {
  readonly resource: string;
  readonly holder: string;
  readonly seconds: number;
  /** Refused (`full`) while as many other live leases of this pool are held, by all processes together. */
  readonly pool?: { readonly name: string; readonly places: number } | undefined;
}

/** Given back in the same transaction, if it is `holder`'s (default: the log's own). */
export interface ReleaseLease {
  readonly resource: string;
  readonly release: true;
  readonly holder?: string;
}

/** One or several streams, all or nothing. A known key returns what it stored instead of appending. */
export interface AppendRequest {
  readonly streams: readonly StreamAppend[];
  readonly key?: { readonly key: string; readonly keepSeconds: number };
  readonly lease?: TakeLease | ReleaseLease;
  readonly rateLimit?: RateLimit;
}

/**
 * At most so many appends per minute under this name, by all replicas together: a bucket that fills steadily, so that a
 * burst of the whole limit is taken and then one every 60/perMinute seconds. Only what is appended spends it.
 */
export interface RateLimit {
  readonly resource: string;
  readonly perMinute: number;
}

export interface StreamVersion {
  readonly streamId: string;
  readonly version: number;
}

export type AppendResult =
  | { readonly status: 'appended'; readonly streams: StreamVersion[]; readonly recordedAt: number }
  /** The heads of all streams of the append, as they are: fold again, decide again. */
  | { readonly status: 'conflict'; readonly streams: StreamVersion[] }
  /** What the key stored first: its (first) stream and the versions written there. */
  | {
      readonly status: 'duplicate';
      readonly streamId: string;
      readonly firstVersion: number;
      readonly lastVersion: number;
    }
  | { readonly status: 'leased'; readonly holder: string; readonly expiresAt: number }
  /** Every place of the lease's pool is taken. */
  | { readonly status: 'full' }
  /** The bucket is empty; a place is free after this long, if nobody else takes it. */
  | { readonly status: 'limited'; readonly retryAfterSeconds: number };
