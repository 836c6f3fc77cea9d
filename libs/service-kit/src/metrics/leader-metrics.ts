import type { Bus } from '@angelia/bus';
import type { LogStatus } from '@angelia/event-log';
import type { Leader, LedLoop } from '../leading/leader.ts';
import { metrics } from './catalogue.ts';

const loops: readonly LedLoop[] = ['relay', 'projection', 'agenda', 'prune'];
const ofLog = [metrics.tailLag, metrics.relayLag, metrics.projectionLag, metrics.deadLetters] as const;
const ofViews = [metrics.sessions, metrics.oldestRunDue, metrics.oldestDeliveryDue] as const;
const ofBus = [metrics.consumerPending, metrics.consumerAckPending] as const;

/**
 * What all services have in common: how far behind the log its readers are, what is open, what JetStream still holds.
 * Told by whoever leads the relay, so that each figure is there once. What cannot be read is not told: an old figure
 * would say that all is well.
 */
export async function readLeaderMetrics(
  log: { readonly status: Pick<LogStatus, 'health' | 'openWork'> },
  bus: Pick<Bus, 'consumerLag'>,
  { leading }: Pick<Leader, 'leading'>,
): Promise<void> {
  const led = leading();
  for (const duty of loops) metrics.leading.set({ duty }, led.includes(duty) ? 1 : 0);
  for (const gauge of [...ofLog, ...ofViews, ...ofBus]) gauge.clear();
  if (!led.includes('relay')) return;
  await Promise.allSettled([tellOfLog(log), tellOfViews(log), tellOfBus(bus)]);
}

async function tellOfLog(log: { readonly status: Pick<LogStatus, 'health'> }): Promise<void> {
  const health = await log.status.health();
  metrics.tailLag.set({}, health.tailLagMs / 1000);
  metrics.relayLag.set({}, health.relayLagMs / 1000);
  metrics.projectionLag.set({}, health.projectionLagMs / 1000);
  metrics.deadLetters.set({}, health.deadLetters);
}

async function tellOfViews(log: { readonly status: Pick<LogStatus, 'openWork'> }): Promise<void> {
  const work = await log.status.openWork();
  for (const status of ['queued', 'running', 'waiting'] as const)
    metrics.sessions.set({ status }, work.sessions[status] ?? 0);
  metrics.sessions.set({ status: 'delivering' }, work.sessions.ended ?? 0);
  metrics.oldestRunDue.set({}, work.runOverdueMs / 1000);
  metrics.oldestDeliveryDue.set({}, work.deliveryOverdueMs / 1000);
}

async function tellOfBus(bus: Pick<Bus, 'consumerLag'>): Promise<void> {
  for (const { durable, pending, ackPending } of await bus.consumerLag()) {
    metrics.consumerPending.set({ durable }, pending);
    metrics.consumerAckPending.set({ durable }, ackPending);
  }
}
