import { runService } from '@angelia/service-kit/run';

await runService({
  name: 'agent-runner',
  load: () => import('./agent-runner.module.ts').then((module) => module.AgentRunnerModule),
  settings: async () => (await import('./settings.ts')).runnerSettings,
  lead: async () => (await import('@angelia/service-kit/leading')).startLeader,
});
