import { runService } from '@angelia/service-kit/run';

await runService({
  name: 'process-watcher',
  load: async () => (await import('./process-watcher.module.ts')).ProcessWatcherModule,
});
