import { runService } from '@angelia/service-kit/run';

await runService({
  name: 'delivery',
  load: async () => (await import('./delivery.module.ts')).DeliveryModule,
  settings: async () => (await import('./settings.ts')).deliverySettings,
  lead: async () => (await import('@angelia/service-kit/leading')).startLeader,
});
