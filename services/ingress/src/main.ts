import { runService } from '@angelia/service-kit/run';

await runService({
  name: 'ingress',
  load: async () => (await import('./ingress.module.ts')).IngressModule,
  settings: async () => (await import('./settings.ts')).ingressSettings,
  lead: async () => (await import('@angelia/service-kit/leading')).startLeader,
  http: {
    options: async ({ config }) =>
      (await import('./http/server-options.ts')).httpServerOptions(config.current),
  },
});
