import { type AddressVariables, type Environment, StartupError } from '@angelia/config';
import type { Config, HolderId } from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import {
  ADDRESS_VARIABLES,
  answerLinks,
  CONFIG,
  DRAIN,
  type Drain,
  ENVIRONMENT,
  EVENT_LOG,
  HOLDER,
  LOGGER,
  type Logger,
  metrics,
  onCollect,
  SESSIONS,
} from '@angelia/service-kit';
import { type Sessions, systemClock } from '@angelia/sessions';
import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { claimTimes } from './attempt/send-window.ts';
import { DeliveryController } from './delivery.controller.ts';
import { DeliveryDispatcher } from './plan/delivery-dispatcher.ts';
import { resumeAfterRestart } from './plan/resume-after-restart.ts';
import { StartTime } from './plan/start-time.ts';
import { configuredTargets, loadAdapters, openTargets, type Targets } from './targets/target-registry.ts';
import { DISPATCHER, TARGETS } from './tokens.ts';

@Module({
  controllers: [DeliveryController],
  providers: [
    {
      provide: TARGETS,
      inject: [CONFIG, LOGGER],
      useFactory: async (config: Config, logger: Logger): Promise<Targets> => {
        const targets = openTargets(config, logger, await loadAdapters(configuredTargets(config)));
        const problems = targets.problems();
        if (problems.length > 0) throw new StartupError(problems);
        return targets;
      },
    },
    {
      provide: DISPATCHER,
      inject: [EVENT_LOG, SESSIONS, TARGETS, CONFIG, HOLDER, LOGGER, DRAIN, ENVIRONMENT, ADDRESS_VARIABLES],
      useFactory: (
        log: EventLog,
        sessions: Sessions,
        targets: Targets,
        config: Config,
        holder: HolderId,
        logger: Logger,
        drain: Drain,
        environment: Environment,
        addressVariables: AddressVariables,
      ): DeliveryDispatcher => {
        const startTime = new StartTime(sessions, systemClock);
        const dispatcher = new DeliveryDispatcher(
          {
            sessions,
            targets,
            addressVariables,
            policy: config.delivery,
            holder,
            logger,
            clock: systemClock,
            random: Math.random,
            startedAt: () => startTime.at,
            unrecorded: new Set(),
            answerLinks: answerLinks(config, environment),
          },
          log.sendRates,
        );
        drain.add(dispatcher);
        onCollect(() => {
          metrics.circuitsOpen.set({}, dispatcher.circuitsOpen);
          metrics.deliveriesParked.set({}, dispatcher.waiting);
        });
        void resumeAfterRestart({
          lists: log.lists,
          status: log.status,
          startTime,
          dispatcher,
          claimMs: claimTimes(config.delivery.request_timeout_seconds).deadlineMs,
          logger,
          draining: () => drain.draining,
        });
        return dispatcher;
      },
    },
  ],
})
export class DeliveryModule implements OnApplicationShutdown {
  constructor(@Inject(TARGETS) private readonly targets: Targets) {}

  async onApplicationShutdown(): Promise<void> {
    await this.targets.close();
  }
}
