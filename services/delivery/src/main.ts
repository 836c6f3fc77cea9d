import { runService } from '@angelia/service-kit/run';

await runService({
  name: 'delivery',
  load: async () => (await import('./delivery.module.ts')).DeliveryModule,
});
