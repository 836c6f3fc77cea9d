import { pause, untilTick } from '@angelia/waiting';
import { VERSION } from '../version.ts';
import type { ServiceRuntime } from './runtime.ts';

const ANNOUNCE_MS = 10_000;
/** Three announcements may fail, as during a restart of Postgres, before it counts as lost. */
const SEEN_SECONDS = 35;

/** Says every few seconds that this replica is there, for `GET /v1/system`. Nothing depends on it. */
export function announcePresence({
  log,
  environment,
  logger,
}: Pick<ServiceRuntime, 'log' | 'environment' | 'logger'>): { stop(): Promise<void> } {
  const who = { service: environment.service, version: VERSION, instance: environment.instance };
  const stopping = new AbortController();
  const announcing = (async () => {
    while (!stopping.signal.aborted) {
      try {
        await log.presence.announce(who, SEEN_SECONDS);
      } catch (error) {
        // The service has its own checks of Postgres, which say this louder.
        logger.debug({ err: error }, 'presence not announced; will try again');
      }
      await pause(untilTick(ANNOUNCE_MS), stopping.signal);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await announcing;
      await log.presence.withdraw(who);
    },
  };
}
