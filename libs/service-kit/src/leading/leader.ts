import type { Bus } from '@angelia/bus';
import type { CurrentConfig, ServiceName } from '@angelia/config';
import { JOBS_PING_SUBJECT, TAIL_PING_SUBJECT } from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import { exportTo, pruneSessions, upgradeViews } from '@angelia/event-log/admin';
import {
  type HintOwner,
  hintAllUnsettled,
  type Leading,
  type LedLoop,
  lead,
  runAgenda,
  runProjection,
  runRelay,
} from '@angelia/event-log/leading';
import { runJobs } from '@angelia/jobs';
import { KeyedSessions, Sessions, uuidV7 } from '@angelia/sessions';
import { LONGEST_TIMER_MS, pause, WakeUp } from '@angelia/waiting';
import type { Logger } from '../logs/logger.ts';
import { countMeasure, projectMeasuredViews, type RecordedMeasure } from '../metrics/session-metrics.ts';

/**
 * The loops that one process runs for all of them: the relay (hints from the log's tail), the projection (views from the
 * same tail), the agenda (timers and sweep), jobs, pruning, and the upgrade of the views. A lease row in Postgres says which
 * process leads a loop. Every service that runs no commands can lead; process-watcher does not import this file
 * (tests/architecture).
 */
export interface Leader {
  /** The loops that this process leads now. */
  leading(): readonly LedLoop[];
  /** Gives every lead back, so that another process takes it at once. */
  resign(): Promise<void>;
}

interface LeaderOptions {
  readonly log: EventLog;
  readonly bus: Bus;
  /** `timing` is fixed while the process runs; retention and directories are not. */
  readonly config: CurrentConfig;
  readonly service: ServiceName;
  readonly logger: Logger;
  /** For tests. Default: by the service. */
  readonly delayFirstTryMs?: number;
}

/**
 * delivery has the most time to spare, so it asks for the leads at once. ingress and the runner wait, so that in normal
 * operation the relay shares an event loop with neither. A longer wait would make that surer on a slow machine, but
 * while delivery is down at the start nothing is relayed for that long.
 */
const PREFERRED_LEADER: ServiceName = 'delivery';
const DELAY_OF_OTHERS_MS = 1_500;

export type StartLeader = typeof startLeader;

export function startLeader(options: LeaderOptions): Leader {
  const { log, bus } = options;
  const { timing } = options.config.current;
  const delay = options.delayFirstTryMs ?? (options.service === PREFERRED_LEADER ? 0 : DELAY_OF_OTHERS_MS);
  const hint = ownerHinter(bus);
  const sessions = new Sessions({ log, instance: log.instance });
  const keyed = new KeyedSessions({ log, sessions, instance: log.instance });
  // Also while another process leads: the next leader must know of a stream that was emptied together with its leader.
  const recreated = new WakeUp();
  const unsubscribe = bus.onStreamRecreated(() => recreated.wake());
  const leadings: Record<LedLoop, Leading> = {
    relay: leadLoop('relay', (leadEpoch, signal) =>
      rehinting(options, recreated, hint, signal, () =>
        awake(bus, TAIL_PING_SUBJECT, (wake) =>
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
    projection: leadLoop('projection', (leadEpoch, signal) =>
      awake(bus, TAIL_PING_SUBJECT, (wake) =>
        runProjection({
          log,
          leadEpoch,
          signal,
          wake,
          project: projectMeasuredViews,
          onProjected: (measured) => (measured as readonly RecordedMeasure[]).forEach(countMeasure),
        }),
      ),
    ),
    agenda: leadLoop('agenda', (leadEpoch, signal) =>
      runAgenda({ log, leadEpoch, signal, sweepSeconds: timing.sweep_seconds, hint }),
    ),
    // No epoch: each of its appends asks for the version of the job that it read.
    jobs: leadLoop('jobs', (_, signal) =>
      awake(bus, JOBS_PING_SUBJECT, (wake) => runJobs({ log, sessions, keyed, bus, signal, wake })),
    ),
    views: leadLoop('views', (_, signal) => upgradeViews({ log, project: projectMeasuredViews, signal })),
    // No epoch: a pruner that was replaced still deletes under the same conditions as any other.
    prune: leadLoop('prune', (_, signal) => pruneNowAndThen(options, signal)),
  };
  return {
    leading: () => (Object.keys(leadings) as LedLoop[]).filter((name) => leadings[name].isLeading()),
    resign: async () => {
      unsubscribe();
      await Promise.all(Object.values(leadings).map((leading) => leading.stop()));
    },
  };

  function leadLoop(name: LedLoop, onLead: (epoch: number, signal: AbortSignal) => Promise<void>): Leading {
    return lead({
      log,
      name,
      holder: log.holder,
      seconds: timing.lead_seconds,
      delayFirstTryMs: delay,
      onLead,
    });
  }
}

/** Removes ended sessions from the log once their retention is over (invariant bounded). */
async function pruneNowAndThen({ log, config, logger }: LeaderOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { retention, directories } = config.current;
    try {
      const pruned = await pruneSessions({
        log,
        olderThanDays: retention.sessions_days,
        signal,
        ...(retention.export ? { beforeDelete: exportTo(directories.exports) } : {}),
      });
      if (pruned.sessions + pruned.keys > 0) logger.info({ ...pruned }, 'pruned');
    } catch (error) {
      logger.warn({ err: error }, 'pruning failed; will retry');
    }
    await pause(config.current.timing.prune_seconds * 1_000, signal);
  }
}

const REHINT_RETRY_MS = 1_000;

/**
 * While `relay` runs, hints all unsettled sessions whenever the hint stream is new or was emptied: earlier hints may never
 * arrive (invariant the-bus-is-disposable). The bus tells it here, whether a consumer, the relay or the agenda noticed.
 * Without that, a quiet system would have to wait for the sweep.
 */
async function rehinting(
  { log, logger }: LeaderOptions,
  recreated: WakeUp,
  hint: HintOwner,
  signal: AbortSignal,
  relay: () => Promise<void>,
): Promise<void> {
  const ending = new AbortController();
  const over = AbortSignal.any([signal, ending.signal]);
  const rehint = async (): Promise<void> => {
    while (!over.aborted) {
      if (!(await recreated.wait(LONGEST_TIMER_MS, over))) continue;
      try {
        const sessions = await hintAllUnsettled({ log, signal: over, hint });
        logger.info({ sessions }, 'the hint stream is new or was emptied; hinted all unsettled sessions');
      } catch (error) {
        logger.warn({ err: error }, 'hinting unsettled sessions failed; will retry');
        setTimeout(() => recreated.wake(), REHINT_RETRY_MS).unref();
      }
      // The lead was lost meanwhile, and some sessions may have no hint: try again when the lead comes back.
      if (over.aborted) recreated.wake();
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

/** Runs a loop that pings wake up. Only a leader listens: every commit of every service sends one. */
async function awake(bus: Bus, subject: string, loop: (wake: WakeUp) => Promise<void>): Promise<void> {
  const wake = new WakeUp();
  const unsubscribe = bus.subscribe(subject, () => wake.wake());
  try {
    await loop(wake);
  } finally {
    unsubscribe();
  }
}

/** Hints of timers and sweep carry a fresh message id: JetStream's duplicate window would drop a repeated one. */
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
