import type { RunningConfig } from '@angelia/config';
import {
  cancelSubject,
  erasedSubject,
  FILE_SUBJECT,
  type HolderId,
  instanceOf,
  OUTPUT_SUBJECT,
  sessionId,
  watchPingSubject,
} from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import {
  BUS,
  CONFIG,
  DRAIN,
  type Drain,
  EVENT_LOG,
  HEALTH,
  type Health,
  HOLDER,
  LOGGER,
  type Logger,
  metrics,
  onCollect,
  SESSIONS,
} from '@angelia/service-kit';
import type { Sessions } from '@angelia/sessions';
import { Module } from '@nestjs/common';
import { answerOutputRequest } from './background/answer-output-request.ts';
import { answerFileRequest } from './files/answer-file-request.ts';
import type { Isolation } from './isolation/isolation.ts';
import type { WatcherSettings } from './settings.ts';
import { userPolicyWarning } from './users/user-policy.ts';
import { HintsController } from './watcher/hints.controller.ts';
import { WATCHER, Watcher } from './watcher/watcher.ts';

/** The part of core NATS that this module uses. */
interface Pings {
  respond(subject: string, answer: (payload: string) => Promise<string | null>): () => void;
  ping(subject: string): void;
  subscribe(subject: string, listener: (subject: string, payload: string) => void): () => void;
}

/** The only service that runs commands. */
@Module({
  controllers: [HintsController],
  providers: [
    {
      provide: WATCHER,
      inject: [CONFIG, EVENT_LOG, SESSIONS, HOLDER, LOGGER, DRAIN, BUS, HEALTH],
      useFactory: (
        config: RunningConfig<WatcherSettings>,
        log: EventLog,
        sessions: Sessions,
        holder: HolderId,
        logger: Logger,
        drain: Drain,
        bus: Pings,
        health: Health,
      ): Watcher => {
        const { userPolicy, directories } = config.settings;
        const warning = userPolicyWarning(userPolicy);
        if (warning !== null) logger.warn(warning);
        const isolation = () => config.settings.isolation;
        logIsolation(isolation(), logger);
        let logged = isolation();
        config.onTaken(() => {
          if (isolation() !== logged) logIsolation(isolation(), logger);
          logged = isolation();
        });
        health.add('commands', () => ({ ok: true, isolation: isolation().summary }));
        const watcher = new Watcher({
          config,
          sessions,
          log,
          directories,
          userPolicy,
          isolation,
          instance: instanceOf(holder),
          logger,
          ping: (subject) => bus.ping(subject),
        });
        const onMessage = (
          subject: string,
          prefix: string,
          act: (id: ReturnType<typeof sessionId>) => Promise<void>,
        ) =>
          act(sessionId(subject.slice(prefix.length))).catch((error: unknown) =>
            logger.debug({ err: error }, 'a message about a session failed; the sweep will repeat it'),
          );
        bus.subscribe(
          cancelSubject('*'),
          (subject) => void onMessage(subject, cancelSubject(''), (id) => watcher.cancelled(id)),
        );
        bus.subscribe(
          erasedSubject('*'),
          (subject) => void onMessage(subject, erasedSubject(''), (id) => watcher.cleanup.removeErased(id)),
        );
        bus.subscribe(
          watchPingSubject('*'),
          (subject) => void onMessage(subject, watchPingSubject(''), (id) => watcher.checkSessionIfOurs(id)),
        );
        bus.respond(OUTPUT_SUBJECT, (request) => answerOutputRequest(request, watcher.commands));
        bus.respond(FILE_SUBJECT, (request) =>
          answerFileRequest(request, { sessions, directories, instance: instanceOf(holder) }),
        );
        onCollect(() => metrics.sessionsWatched.set({}, watcher.sessionsInFlight));
        drain.add({ name: 'commands', drain: () => watcher.close() });
        watcher
          .start()
          .catch((error: unknown) =>
            logger.error({ err: error }, 'the commands on this host were not adopted'),
          );
        return watcher;
      },
    },
  ],
})
export class ProcessWatcherModule {}

function logIsolation({ kind, summary, warning }: Isolation, logger: Logger): void {
  logger.info({ isolation: kind }, `isolation of commands: ${summary}`);
  if (warning !== null) logger.warn(warning);
}
