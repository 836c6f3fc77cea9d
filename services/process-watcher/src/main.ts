import { shedForeignVariables } from './restart-without-secrets.ts';

shedForeignVariables(import.meta.url);

// Not before: until then this process may have to become itself again, and would load everything twice.
const { runService } = await import('@angelia/service-kit/run');
await runService({
  name: 'process-watcher',
  load: async () => (await import('./process-watcher.module.ts')).ProcessWatcherModule,
});
