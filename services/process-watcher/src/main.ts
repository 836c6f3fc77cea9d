import { restartWithoutSecrets } from './restart-without-secrets.ts';

restartWithoutSecrets(import.meta.url);

// Imported only now: the call above may replace this process, and everything imported before it would load twice.
const { runService } = await import('@angelia/service-kit/run');
await runService({
  name: 'process-watcher',
  settings: async () => (await import('./settings.ts')).watcherSettings,
  load: async () => (await import('./process-watcher.module.ts')).ProcessWatcherModule,
});
