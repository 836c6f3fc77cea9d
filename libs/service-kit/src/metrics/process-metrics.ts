import type { LogStatus } from '@angelia/event-log';
import { onTicks } from '@angelia/waiting';
import type { Health } from '../health/health.ts';
import { metrics } from './catalogue.ts';

/**
 * A stall that matters is about as long: a lease is renewed every 5 s. More samples would wake an idle service
 * more often: four a second were four of its 10 to 15 wake-ups. On a tick, it wakes for other reasons, too.
 */
const SAMPLE_MS = 1_000;

/** Measures how late a timer is. Returns a function that ends it. */
export const watchEventLoop = (): (() => void) =>
  onTicks(SAMPLE_MS, (lateMs) => metrics.loopDelay.observe({}, lateMs / 1000));

export function readProcess(): void {
  const { user, system } = process.cpuUsage();
  metrics.cpuSeconds.set({ mode: 'user' }, user / 1e6);
  metrics.cpuSeconds.set({ mode: 'system' }, system / 1e6);
  const memory = process.memoryUsage();
  metrics.residentBytes.set({}, memory.rss);
  metrics.heapBytes.set({ kind: 'used' }, memory.heapUsed);
  metrics.heapBytes.set({ kind: 'total' }, memory.heapTotal);
  metrics.heapBytes.set({ kind: 'external' }, memory.external);
  metrics.startTime.set({}, performance.timeOrigin / 1000);
}

export function readPools(log: { readonly status: Pick<LogStatus, 'pools'> }): void {
  for (const [name, use] of Object.entries(log.status.pools)) {
    const pool = name as keyof LogStatus['pools'];
    metrics.poolConnections.set({ pool, state: 'busy' }, use.busy);
    metrics.poolConnections.set({ pool, state: 'idle' }, use.idle);
    metrics.poolWaiting.set({ pool }, use.waiting);
  }
}

/** A service that does not answer in time is not ready. */
export async function readReadiness(health: Health): Promise<void> {
  metrics.ready.set({}, 0);
  metrics.ready.set({}, (await health.readiness()).ready ? 1 : 0);
}

/** Counts a flush of the log's batcher. */
export function countFlush(appends: number, ms: number): void {
  metrics.appendBatch.observe({}, appends);
  metrics.appendSeconds.observe({}, ms / 1000);
}
