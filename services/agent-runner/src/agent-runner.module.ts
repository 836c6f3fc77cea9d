import type { Config, HolderId } from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import {
  BUS,
  CONFIG,
  DRAIN,
  type Drain,
  EVENT_LOG,
  HOLDER,
  LOGGER,
  type Logger,
  SESSIONS,
  type Sessions,
} from '@angelia/service-kit';
import { Module } from '@nestjs/common';
import { type CancelSignals, listenForCancels } from './cancel.ts';
import { drainOf } from './drain.ts';
import { HintsController } from './hints.controller.ts';
import { provideModels } from './models/models.ts';
import { takeUpFromPredecessor } from './predecessor.ts';
import { RUNNER, Runner } from './runner.ts';

@Module({
  controllers: [HintsController],
  providers: [
    {
      provide: RUNNER,
      inject: [CONFIG, EVENT_LOG, SESSIONS, HOLDER, LOGGER, DRAIN, BUS],
      useFactory: async (
        config: Config,
        log: EventLog,
        sessions: Sessions,
        holder: HolderId,
        logger: Logger,
        drain: Drain,
        bus: CancelSignals,
      ): Promise<Runner> => {
        const runner = new Runner({
          config,
          models: await provideModels(config),
          sessions,
          log,
          holder,
          logger,
        });
        drain.add(drainOf(runner));
        listenForCancels(bus, (id) => runner.cancel(id));
        void takeUpFromPredecessor({
          log,
          holder,
          logger,
          look: (id) => runner.look(id),
          draining: () => drain.draining,
        });
        return runner;
      },
    },
  ],
})
export class AgentRunnerModule {}
