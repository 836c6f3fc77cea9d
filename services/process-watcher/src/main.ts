import { runService } from '@angelia/service-kit/run';
import { shedForeignVariables } from './bare-environment.ts';

shedForeignVariables(import.meta.url);

await runService({
  name: 'process-watcher',
  load: async () => (await import('./process-watcher.module.ts')).ProcessWatcherModule,
});
