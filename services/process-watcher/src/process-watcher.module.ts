import { configPath, type Environment } from '@angelia/config';
import {
  type Config,
  cancelSubject,
  erasedSubject,
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
  ENVIRONMENT,
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
import { answerOutput } from './background/answer-output-request.ts';
import { HintsController } from './hints.controller.ts';
import { chooseIsolation } from './isolation/choose-isolation.ts';
import { Places } from './session-directories.ts';
import { runAs, warningOf } from './users/user-policy.ts';
import { WATCHER, Watcher } from './watcher.ts';

/** Core NATS, as far as it is needed here. */
interface Pings {
  respond(subject: string, answer: (payload: string) => Promise<string | null>): () => void;
  ping(subject: string): void;
  subscribe(subject: string, listener: (subject: string, payload: string) => void): () => void;
}

/** The only place where commands run. */
@Module({
  controllers: [HintsController],
  providers: [
    {
      provide: WATCHER,
      inject: [CONFIG, ENVIRONMENT, EVENT_LOG, SESSIONS, HOLDER, LOGGER, DRAIN, BUS, HEALTH],
      useFactory: (
        config: Config,
        environment: Environment,
        log: EventLog,
        sessions: Sessions,
        holder: HolderId,
        logger: Logger,
        drain: Drain,
        bus: Pings,
        health: Health,
      ): Watcher => {
        const users = runAs(config.process_watcher);
        const warning = warningOf(users);
        if (warning !== null) logger.warn(warning);
        const places = new Places(environment.dataDirectory, users);
        const { path, demo } = configPath(process.env);
        const isolation = chooseIsolation({
          config,
          users,
          places,
          dataDirectory: environment.dataDirectory,
          configFile: demo ? null : path,
        });
        logger.info({ isolation: isolation.kind }, `isolation of commands: ${isolation.summary}`);
        if (isolation.warning !== null) logger.warn(isolation.warning);
        health.add('commands', () => ({ ok: true, isolation: isolation.summary }));
        const watcher = new Watcher({
          config,
          sessions,
          log,
          places,
          runAs: users,
          isolation,
          instance: instanceOf(holder),
          logger,
          ping: (subject) => bus.ping(subject),
        });
        const heard = (
          subject: string,
          prefix: string,
          act: (id: ReturnType<typeof sessionId>) => Promise<void>,
        ) =>
          act(sessionId(subject.slice(prefix.length))).catch((error: unknown) =>
            logger.debug(
              { err: error },
              'a message about a session could not be followed: the sweep brings it again',
            ),
          );
        bus.subscribe(
          cancelSubject('*'),
          (subject) => void heard(subject, cancelSubject(''), (id) => watcher.cancelled(id)),
        );
        bus.subscribe(
          erasedSubject('*'),
          (subject) => void heard(subject, erasedSubject(''), (id) => watcher.erased(id)),
        );
        bus.subscribe(
          watchPingSubject('*'),
          (subject) => void heard(subject, watchPingSubject(''), (id) => watcher.lookIfOurs(id)),
        );
        bus.respond(OUTPUT_SUBJECT, (request) => answerOutput(request, watcher.commands));
        onCollect(() => metrics.sessionsWatched.set({}, watcher.inHand));
        drain.add({ name: 'commands', drain: () => watcher.close() });
        watcher
          .adopt()
          .catch((error: unknown) => logger.error({ err: error }, 'what runs on this host was not taken up'));
        return watcher;
      },
    },
  ],
})
export class ProcessWatcherModule {}
