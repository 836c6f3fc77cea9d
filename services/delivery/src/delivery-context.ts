import type { AddressVariables } from '@angelia/config';
import type { Config, HolderId } from '@angelia/contracts';
import type { AnswerLinks, Logger } from '@angelia/service-kit';
import type { Clock, Sessions } from '@angelia/sessions';
import type { Targets } from './targets/target-registry.ts';

/** What every step of a delivery works with. One per process. */
export interface DeliveryContext {
  /** Its clock is the database's: plans and retries are made by it. */
  readonly sessions: Sessions;
  readonly targets: Targets;
  /** Resolves the references in an address. */
  readonly addressVariables: AddressVariables;
  readonly policy: Config['delivery'];
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
  /** Null: no agent of this config asks questions, so there is no key. */
  readonly answerLinks: Pick<AnswerLinks, 'url'> | null;
}
