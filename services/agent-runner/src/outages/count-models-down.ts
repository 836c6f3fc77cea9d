import type { Config } from '@angelia/contracts';
import { metrics } from '@angelia/service-kit';
import type { DownModel } from './model-circuits.ts';

/** Every model of the config has a series, so that an alert sees it go back to 0. */
export function countModelsDown(config: Pick<Config, 'models'>, down: readonly DownModel[]): void {
  metrics.modelDown.clear();
  for (const model of Object.keys(config.models)) {
    for (const reason of ['unavailable', 'configuration'] as const)
      metrics.modelDown.set({ model, reason }, 0);
  }
  for (const { model, reason } of down) metrics.modelDown.set({ model, reason }, 1);
}
