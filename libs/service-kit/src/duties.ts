import { setTimeout as pause } from 'node:timers/promises';
import type { Bus } from '@angelia/bus';
import { type Config, TAIL_PING_SUBJECT } from '@angelia/contracts';
import {
  Bell,
  type EventLog,
  exportTo,
  type HintOwner,
  hintAllUnsettled,
  type Leading,
  lead,
  pruneSessions,
  runAgenda,
  runProjection,
  runRelay,
} from '@angelia/event-log';
import type { ServiceName } from './environment.ts';
import { uuidV7 } from './ids.ts';
import type { Logger } from './logging.ts';
import { count, type LogMeasure } from './metrics/log-facts.ts';
import { projectMeasured } from './project-recorded.ts';

/**
 * What one process of all does for everybody: the relay (hints from the log's tail), the projections (views from the same
 * tail), the agenda (timers and sweep) and pruning. Every service can lead each of them; a lease row in Postgres says who does.
 */
export interface Duties {
  leading(): readonly DutyName[];
  /** Gives back what it leads, so that another service takes it at once. */
  resign(): Promise<void>;
}

export type DutyName = 'relay' | 'projection' | 'agenda' | 'prune';

export interface DutiesOptions {
  readonly log: EventLog;
  readonly bus: Bus;
  readonly config: Config;
  readonly service: ServiceName;
  readonly logger: Logger;
  /** For tests; else by the service. */
  readonly delayFirstTryMs?: number;
}

/**
 * process-watcher is the idlest: it tries at once. The others wait, so that in normal operation the relay shares an
 * event loop neither with ingress nor with the runner. Longer than four services on two cores take to start together
 * would be safer for that, and worse for a stack whose watcher is broken: then nothing is relayed meanwhile.
 */
const DELAY_OF_OTHERS_MS = 1_500;

export function startDuties(options: DutiesOptions): Duties {
  const { log, bus, config } = options;
  const delay = options.delayFirstTryMs ?? (options.service === 'process-watcher' ? 0 : DELAY_OF_OTHERS_MS);
  const hint = ownerHinter(bus);
  // Also while another leads: a stream that was emptied together with its leader must be known to the next one.
  const recreated = new Bell();
  const unsubscribe = bus.onStreamRecreated(() => recreated.ring());
  const leadings: Record<DutyName, Leading> = {
    relay: leadDuty('relay', (leadEpoch, signal) =>
      rehinting(options, recreated, hint, signal, () =>
        awake(bus, (wake) =>
          runRelay({
            log,
            leadEpoch,
            signal,
            wake,
            publish: (hints) =>
              bus.publishHints(hints.map(({ eventId, ...relayed }) => ({ ...relayed, messageId: eventId }))),
          }),
        ),
      ),
    ),
    projection: leadDuty('projection', (leadEpoch, signal) =>
      awake(bus, (wake) =>
        runProjection({
          log,
          leadEpoch,
          signal,
          wake,
          project: projectMeasured,
          onProjected: (measured) => (measured as readonly LogMeasure[]).forEach(count),
        }),
      ),
    ),
    agenda: leadDuty('agenda', (leadEpoch, signal) =>
      runAgenda({ log, leadEpoch, signal, sweepSeconds: config.timing.sweep_seconds, hint }),
    ),
    // No epoch: what a pruner that was replaced still deletes, it deletes under the same conditions as any other.
    prune: leadDuty('prune', (_, signal) => pruneNowAndThen(options, signal)),
  };
  return {
    leading: () => (Object.keys(leadings) as DutyName[]).filter((name) => leadings[name].isLeading()),
    resign: async () => {
      unsubscribe();
      await Promise.all(Object.values(leadings).map((leading) => leading.stop()));
    },
  };

  function leadDuty(name: DutyName, onLead: (epoch: number, signal: AbortSignal) => Promise<void>): Leading {
    return lead({
      log,
      name,
      holder: log.holder,
      seconds: config.timing.lead_seconds,
      delayFirstTryMs: delay,
      onLead,
    });
  }
}

/** Ended sessions that had their time leave the log (invariant bounded). */
async function pruneNowAndThen({ log, config, logger }: DutiesOptions, signal: AbortSignal): Promise<void> {
  const { retention, directories, timing } = config;
  while (!signal.aborted) {
    try {
      const pruned = await pruneSessions({
        log,
        olderThanDays: retention.sessions_days,
        signal,
        ...(retention.export ? { beforeDelete: exportTo(directories.exports) } : {}),
      });
      if (pruned.sessions + pruned.keys > 0) logger.info({ ...pruned }, 'pruned');
    } catch (error) {
      logger.warn({ err: error }, 'ended sessions could not be pruned: trying again later');
    }
    await pause(timing.prune_seconds * 1_000, undefined, { signal }).catch(() => {}); // Aborted: the loop ends.
  }
}

const REHINT_RETRY_MS = 1_000;

/**
 * While `relay` runs, hints all unsettled sessions whenever the stream is found new or emptied: what was hinted before may
 * never arrive (invariant the-bus-is-disposable). Whoever notices it first, consumer, relay or agenda, the bus tells
 * it here; waiting for the relay's next publish would leave a quiet system to the sweep.
 */
async function rehinting(
  { log, logger }: DutiesOptions,
  recreated: Bell,
  hint: HintOwner,
  signal: AbortSignal,
  relay: () => Promise<void>,
): Promise<void> {
  const ending = new AbortController();
  const over = AbortSignal.any([signal, ending.signal]);
  const rehint = async (): Promise<void> => {
    while (!over.aborted) {
      if (!(await recreated.wait(ONE_HOUR_MS, over))) continue;
      try {
        const sessions = await hintAllUnsettled({ log, signal: over, hint });
        logger.info({ sessions }, 'the hint stream is new or was emptied: hinted all unsettled sessions');
      } catch (error) {
        logger.warn({ err: error }, 'unsettled sessions could not be hinted: trying again');
        setTimeout(() => recreated.ring(), REHINT_RETRY_MS).unref();
      }
      // The lead was lost meanwhile, and some may be without a hint: for when it comes back.
      if (over.aborted) recreated.ring();
    }
  };
  const rehinted = rehint();
  try {
    await relay();
  } finally {
    ending.abort();
    await rehinted;
  }
}

/** A bell wants a bound; nothing happens at it. */
const ONE_HOUR_MS = 3_600_000;

/** Runs a loop with a bell that every service's commits ring. Only a leader listens: pings are many. */
async function awake(bus: Bus, loop: (wake: Bell) => Promise<void>): Promise<void> {
  const wake = new Bell();
  const unsubscribe = bus.subscribe(TAIL_PING_SUBJECT, () => wake.ring());
  try {
    await loop(wake);
  } finally {
    unsubscribe();
  }
}

/** Hints of timers and sweep carry a fresh message id: JetStream's duplicate window would swallow a repeated one. */
function ownerHinter(bus: Bus): HintOwner {
  return async (owner, streamIds) => {
    if (streamIds.length === 0) return;
    await bus.publishHints(
      streamIds.map((streamId) => ({
        stream_id: streamId,
        version: 0,
        type: `hint.${owner}`,
        messageId: uuidV7(),
      })),
    );
  };
}
