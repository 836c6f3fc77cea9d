import type { HolderId } from '@angelia/contracts';
import type { Streams } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import type { Clock, Sessions } from '@angelia/sessions';
import type { DeliverySettings } from './settings.ts';

/** What every step of a delivery works with: the process, and the settings that were in force when it began. */
export interface DeliveryContext extends DeliveryProcess, DeliverySettings {}

/** One per process. */
export interface DeliveryProcess {
  /** Its clock is the database's: plans and retries are made by it. */
  readonly sessions: Sessions;
  /** Of the small streams by which replies find their session (attempt/receipt-streams.ts). */
  readonly streams: Pick<Streams, 'readHead'>;
  readonly holder: HolderId;
  readonly logger: Logger;
  /** This host's clocks. They measure the time that a claim leaves. */
  readonly clock: Clock;
  readonly random: () => number;
  /**
   * When this process started, by the database's clock. An older claim under our name belongs to a dead predecessor.
   * Null until the database has been asked.
   */
  readonly startedAt: () => number | null;
  /** Sessions with something sent and not yet recorded. One stays here only if recording failed for good. */
  readonly unrecorded: Set<string>;
  /** Asks process-watcher for files that an output names. */
  readonly bus: WatcherRequests;
  /** Looks at the config file now, for a target that the config in force does not have. Default: it has not changed. */
  readonly hasTargetByNow?: (name: string) => Promise<boolean>;
}

/** The part of the bus that asks. */
export interface WatcherRequests {
  /** Null: nobody answered in time. */
  request(subject: string, payload: string, timeoutMs: number): Promise<string | null>;
}
