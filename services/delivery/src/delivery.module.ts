import type { RunningConfig } from '@angelia/config';
import type { HolderId } from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import {
  BUS,
  CONFIG,
  CONFIG_RELOADS,
  DRAIN,
  type Drain,
  EVENT_LOG,
  HOLDER,
  LOGGER,
  type Logger,
  metrics,
  onCollect,
  type RunningReloads,
  SESSIONS,
} from '@angelia/service-kit';
import { type Sessions, systemClock } from '@angelia/sessions';
import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { claimTimes } from './attempt/send-window.ts';
import { DeliveryController } from './delivery.controller.ts';
import type { WatcherRequests } from './delivery-context.ts';
import { DeliveryDispatcher } from './plan/delivery-dispatcher.ts';
import { resumeAfterRestart } from './plan/resume-after-restart.ts';
import { StartTime } from './plan/start-time.ts';
import type { DeliverySettings } from './settings.ts';
import { DISPATCHER } from './tokens.ts';
import { listenForTyping, TypingIndicator, type TypingSignals } from './typing/typing-indicator.ts';

@Module({
  controllers: [DeliveryController],
  providers: [
    {
      provide: DISPATCHER,
      inject: [EVENT_LOG, SESSIONS, CONFIG, CONFIG_RELOADS, HOLDER, LOGGER, DRAIN, BUS],
      useFactory: (
        log: EventLog,
        sessions: Sessions,
        config: RunningConfig<DeliverySettings>,
        reloads: RunningReloads,
        holder: HolderId,
        logger: Logger,
        drain: Drain,
        bus: TypingSignals & WatcherRequests,
      ): DeliveryDispatcher => {
        const startTime = new StartTime(sessions, systemClock);
        const dispatcher = new DeliveryDispatcher(
          {
            sessions,
            streams: log.streams,
            holder,
            logger,
            clock: systemClock,
            random: Math.random,
            startedAt: () => startTime.at,
            unrecorded: new Set(),
            bus,
            hasTargetByNow: async (name) => {
              await reloads.reload('retry');
              return config.settings.targets.has(name);
            },
          },
          config,
          log.sendRates,
        );
        drain.add(dispatcher);
        const typing = new TypingIndicator({ sessions, config, clock: systemClock, logger });
        drain.add(typing);
        listenForTyping(bus, typing);
        onCollect(() => {
          metrics.circuitsOpen.set({}, dispatcher.circuitsOpen);
          metrics.deliveriesParked.set({}, dispatcher.waiting);
        });
        void resumeAfterRestart({
          lists: log.lists,
          status: log.status,
          startTime,
          dispatcher,
          claimMs: claimTimes(config.current.delivery.request_timeout_seconds).deadlineMs,
          logger,
          draining: () => drain.draining,
        });
        return dispatcher;
      },
    },
  ],
})
export class DeliveryModule implements OnApplicationShutdown {
  constructor(@Inject(CONFIG) private readonly config: RunningConfig<DeliverySettings>) {}

  async onApplicationShutdown(): Promise<void> {
    await this.config.settings.targets.close();
  }
}
