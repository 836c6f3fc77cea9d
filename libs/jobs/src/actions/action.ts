import type { Count, EventLog } from '@angelia/event-log';
import type { KeyedSessions, Sessions } from '@angelia/sessions';
import type { Selection } from '../filter.ts';
import type { ItemResult } from '../job.ts';

/** What one action finds, and what it does with one item. */
export interface Action {
  /** The next ids behind the cursor, in an order that the job itself does not change. No ids: there are no more. */
  select(log: EventLog, selection: Selection, cursor: string | null, limit: number): Promise<Selected>;
  count(log: EventLog, selection: Selection): Promise<Count>;
  /**
   * Idempotent, in its result too: a job repeats the batch that was under way when its leader died, and counts every item
   * once. Throws what the log and the bus throw.
   */
  perform(item: string, work: Work): Promise<ItemResult>;
  /** Which queue it fills. The job waits while much is due there. */
  readonly fills: 'runs' | 'deliveries' | null;
}

export interface Selected {
  readonly ids: readonly string[];
  /** Null: there are no more. */
  readonly next: string | null;
}

export interface Work extends Tools {
  readonly jobId: string;
  /** Who asked for the job. */
  readonly actor: string;
}

/** What actions work with. */
export interface Tools {
  readonly log: EventLog;
  readonly sessions: Sessions;
  readonly keyed: KeyedSessions;
  readonly bus: {
    ping(subject: string): void;
    publishHints(
      hints: readonly { stream_id: string; version: number; type: string; messageId: string }[],
    ): Promise<unknown>;
  };
}

/** Longer than any job is interrupted. Only a batch that was under way is looked up. */
const KEY_SECONDS = 7 * 86_400;

/** Under this key, an item of a job has its effect once. */
export function keyOf(item: string, { jobId }: Work): { key: string; keepSeconds: number } {
  return { key: `job:${jobId}:${item}`, keepSeconds: KEY_SECONDS };
}

export const DONE: ItemResult = { outcome: 'done' };

export function skipped(reason: string): ItemResult {
  return { outcome: 'skipped', reason };
}
