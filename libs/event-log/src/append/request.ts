import type { NewEvent } from '@angelia/contracts';

export interface StreamAppend {
  readonly streamId: string;
  /** The version of the stream's last event as the caller folded it; 0 for a new stream. */
  readonly expectedVersion: number;
  /** May be empty: then only the stream's version is checked. */
  readonly events: readonly NewEvent[];
}

/** Takes the lease in the same transaction. Refused (`leased`) while another live holder has it. */
export interface TakeLease {
  readonly resource: string;
  readonly holder: string;
  readonly seconds: number;
  /** Refused (`full`) while this pool has that many other live leases, over all processes. */
  readonly pool?: { readonly name: string; readonly capacity: number } | undefined;
}

/** Gives the lease back in the same transaction, if `holder` (default: the log's own) has it. */
export interface ReleaseLease {
  readonly resource: string;
  readonly release: true;
  readonly holder?: string;
}

/** One or several streams, all or nothing. A known key appends nothing and returns what it stored first. */
export interface AppendRequest {
  readonly streams: readonly StreamAppend[];
  readonly key?: { readonly key: string; readonly keepSeconds: number };
  readonly lease?: TakeLease | ReleaseLease;
  readonly rateLimit?: RateLimit;
}

/**
 * At most this many appends per minute under this name, over all replicas. A bucket that fills steadily: it takes a burst
 * of the whole limit, then one append every 60/perMinute seconds. Only what is appended spends it.
 */
export interface RateLimit {
  readonly resource: string;
  readonly perMinute: number;
}

interface StreamVersion {
  readonly streamId: string;
  readonly version: number;
}

export type AppendResult =
  | { readonly status: 'appended'; readonly streams: StreamVersion[]; readonly recordedAt: number }
  /** The current heads of all streams of the append: fold again, decide again. */
  | { readonly status: 'conflict'; readonly streams: StreamVersion[] }
  /** What the key stored first: the first stream, and the versions that were written there. */
  | {
      readonly status: 'duplicate';
      readonly streamId: string;
      readonly firstVersion: number;
      readonly lastVersion: number;
    }
  | { readonly status: 'leased'; readonly holder: string; readonly expiresAt: number }
  /** Every place in the lease's pool is taken. */
  | { readonly status: 'full' }
  /** The bucket is empty. It has room again after this long, unless somebody else takes it. */
  | { readonly status: 'limited'; readonly retryAfterSeconds: number };
