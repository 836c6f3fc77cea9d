import type { Bus } from '@angelia/bus';
import type { LogStatus } from '@angelia/event-log';
import type { LedLoop } from '@angelia/event-log/leading';
import { metrics } from './catalogue.ts';

const loops: readonly LedLoop[] = ['relay', 'projection', 'agenda', 'jobs', 'prune', 'views'];
const ofLog = [metrics.tailLag, metrics.relayLag, metrics.projectionLag, metrics.deadLetters] as const;
const ofViews = [metrics.sessions, metrics.oldestRunDue, metrics.oldestDeliveryDue] as const;
const ofBus = [metrics.consumerPending, metrics.consumerAckPending] as const;

/**
 * Metrics of the whole system: how far the readers of the log are behind, what work is open, what JetStream still holds.
 * The leader of the relay reports them, so that each figure exists once. A figure that cannot be read is left out: an old
 * one would say that all is well.
 */
export async function readLeaderMetrics(
  log: { readonly status: Pick<LogStatus, 'health' | 'openWork'> },
  bus: Pick<Bus, 'consumerLag'>,
  led: readonly LedLoop[],
): Promise<void> {
  for (const duty of loops) metrics.leading.set({ duty }, led.includes(duty) ? 1 : 0);
  for (const gauge of [...ofLog, ...ofViews, ...ofBus]) gauge.clear();
  if (!led.includes('relay')) return;
  await Promise.allSettled([readLog(log), readViews(log), readBus(bus)]);
}

async function readLog(log: { readonly status: Pick<LogStatus, 'health'> }): Promise<void> {
  const health = await log.status.health();
  metrics.tailLag.set({}, health.tailLagMs / 1000);
  metrics.relayLag.set({}, health.relayLagMs / 1000);
  metrics.projectionLag.set({}, health.projectionLagMs / 1000);
  metrics.deadLetters.set({}, health.deadLetters);
}

async function readViews(log: { readonly status: Pick<LogStatus, 'openWork'> }): Promise<void> {
  const work = await log.status.openWork();
  for (const status of ['queued', 'running', 'waiting'] as const)
    metrics.sessions.set({ status }, work.sessions[status] ?? 0);
  metrics.sessions.set({ status: 'delivering' }, work.sessions.ended ?? 0);
  metrics.oldestRunDue.set({}, work.runOverdueMs / 1000);
  metrics.oldestDeliveryDue.set({}, work.deliveryOverdueMs / 1000);
}

async function readBus(bus: Pick<Bus, 'consumerLag'>): Promise<void> {
  for (const { durable, pending, ackPending } of await bus.consumerLag()) {
    metrics.consumerPending.set({ durable }, pending);
    metrics.consumerAckPending.set({ durable }, ackPending);
  }
}
