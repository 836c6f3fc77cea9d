import type { ServiceName } from '@angelia/config';
import type { Config } from '@angelia/contracts';
import { metrics } from './catalogue.ts';

/**
 * Starts the series of alerts and dashboards at 0: Prometheus sees no increase in a series that appears with its first count,
 * and the first failure is the one to alert on. It also reserves the label values for the names of the config.
 */
export function startSeriesAtZero(config: Config, service: ServiceName): void {
  const routes = Object.keys(config.routes);
  const agents = Object.keys(config.agents);
  const models = Object.keys(config.models);
  if (service === 'ingress') {
    for (const route of routes)
      for (const outcome of ['accepted', 'rate_limited', 'unavailable', 'crowded_out', 'error'] as const)
        metrics.webhooks.add({ route, outcome }, 0);
    for (const { platform } of Object.values(config.chats)) metrics.chatDown.set({ platform }, 0);
    for (const [route, { on_missing }] of Object.entries(config.routes))
      metrics.placeholdersMissing.add({ route, on_missing }, 0);
  }
  if (service === 'agent-runner') for (const model of models) metrics.modelFallbacks.add({ model }, 0);
  for (const outcome of ['taken', 'refused'] as const) metrics.configReloads.add({ outcome }, 0);
  // These are counted from the log: any service may lead.
  for (const route of routes)
    for (const outcome of ['succeeded', 'failed'] as const) metrics.sessionsEnded.add({ route, outcome }, 0);
  for (const agent of agents)
    for (const outcome of ['succeeded', 'failed', 'lost'] as const) metrics.runs.add({ agent, outcome }, 0);
  for (const target of targetsOf(config)) {
    for (const attempt of ['0', '1', '2', '3', '4+'])
      metrics.deliveries.add({ target, outcome: 'dead', attempt }, 0);
  }
}

function targetsOf({ targets, routes }: Config): Set<string> {
  return new Set([...Object.keys(targets), ...Object.values(routes).map(({ deliver }) => deliver)]);
}
