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
  HEALTH,
  type Health,
  HOLDER,
  LOGGER,
  type Logger,
  metrics,
  onCollect,
  type RunningReloads,
  SESSIONS,
} from '@angelia/service-kit';
import type { Sessions } from '@angelia/sessions';
import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { agentPoster } from './agents/http/agent-request.ts';
import { resumeRunsOfPreviousProcess } from './claim/previous-process.ts';
import { HintsController } from './hints.controller.ts';
import { countModelsDown } from './outages/count-models-down.ts';
import { type CancelSignals, listenForCancels } from './run/cancel-signals.ts';
import { drainRuns } from './run/drain-runs.ts';
import { showTyping, type TypingPings } from './run/show-typing.ts';
import { RUNNER, Runner } from './runner.ts';
import type { RunnerSettings } from './settings.ts';

@Module({
  controllers: [HintsController],
  providers: [
    {
      provide: RUNNER,
      inject: [CONFIG, CONFIG_RELOADS, EVENT_LOG, SESSIONS, HOLDER, LOGGER, DRAIN, HEALTH, BUS],
      useFactory: (
        config: RunningConfig<RunnerSettings>,
        reloads: RunningReloads,
        log: EventLog,
        sessions: Sessions,
        holder: HolderId,
        logger: Logger,
        drain: Drain,
        health: Health,
        bus: CancelSignals & TypingPings,
      ): Runner => {
        const runner = new Runner({
          config,
          refreshConfig: () => reloads.reload('retry'),
          postToAgent: agentPoster(),
          pings: bus,
          onStarted: (session) => showTyping(session, config.current, bus),
          sessions,
          log,
          holder,
          logger,
        });
        drain.add(drainRuns(runner));
        onCollect(() => metrics.runsOpen.set({}, runner.size));
        onCollect(() => countModelsDown(config.current, runner.modelsDown));
        // A detail, and never a reason to be unready: other agents have other models, and nobody else could do better.
        health.add('models', () => ({ ok: true, down: runner.modelsDown }));
        listenForCancels(bus, (id) => runner.cancel(id));
        void resumeRunsOfPreviousProcess({
          log,
          holder,
          logger,
          checkSession: (id) => runner.checkSession(id),
          draining: () => drain.draining,
        });
        return runner;
      },
    },
  ],
})
export class AgentRunnerModule implements OnApplicationShutdown {
  constructor(@Inject(CONFIG) private readonly config: RunningConfig<RunnerSettings>) {}

  /** Called after the drain: until then the last runs may call their tools. */
  async onApplicationShutdown(): Promise<void> {
    await this.config.settings.mcp.close();
  }
}
