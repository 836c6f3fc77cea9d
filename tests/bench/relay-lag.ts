import { randomUUID } from 'node:crypto';
import { connectBus } from '@angelia/bus';
import { openEventLog } from '@angelia/event-log';
import { pause } from '@angelia/waiting';
import { quantile } from './quantile.ts';

/** A burst every 10 ms: a timer cannot pace single events at 1,000/s, and real webhooks arrive in bursts. */
const BURST_MS = 10;

/** From the commit (as the writer sees it) to the hint's arrival at a subscriber. */
export async function relayLag(options: {
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly rate: number;
  readonly seconds: number;
}): Promise<{ p50: number; p99: number; events: number; missing: number }> {
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const bus = connectBus({ url: options.natsUrl, name: 'bench', replicas: 1, logger: silent });
  const log = openEventLog({
    url: options.databaseUrl,
    instance: 'bench',
    holder: `bench#${process.pid}`,
    // As the services do (announce-commits.ts, which needs a build).
    onCommitted: (hints) => bus.hint(hints.map(({ eventId, ...hint }) => ({ ...hint, messageId: eventId }))),
  });
  const committedAt = new Map<string, number>();
  const lags: number[] = [];
  const arrivedEarly = new Map<string, number>();
  const unsubscribe = bus.subscribe('angelia.evt.bench.tick.*', (subject) => {
    const id = subject.slice(subject.lastIndexOf('.') + 1);
    const at = committedAt.get(id);
    // The hint can arrive before the answer to the append. That is a lag of zero.
    if (at === undefined) arrivedEarly.set(id, performance.now());
    else lags.push(performance.now() - at);
  });
  await bus.whenReady();

  const perBurst = Math.round((options.rate * BURST_MS) / 1000);
  const bursts = Math.round((options.seconds * 1000) / BURST_MS);
  const appends: Promise<void>[] = [];
  const begun = performance.now();
  for (let burst = 0; burst < bursts; burst++) {
    const wait = begun + burst * BURST_MS - performance.now();
    if (wait > 0) await pause(wait);
    for (let i = 0; i < perBurst; i++) {
      const streamId = `bench-${randomUUID()}`;
      const event = { eventId: randomUUID(), type: 'bench.tick', data: { i }, meta: { actor: 'bench' } };
      appends.push(
        log.append({ streams: [{ streamId, expectedVersion: 0, events: [event] }] }).then(() => {
          if (arrivedEarly.delete(streamId)) lags.push(0);
          else committedAt.set(streamId, performance.now());
        }),
      );
    }
  }
  await Promise.all(appends);
  const deadline = performance.now() + 10_000;
  while (lags.length < appends.length && performance.now() < deadline) {
    await pause(20);
  }
  unsubscribe();
  await log.close();
  await bus.close();
  return {
    p50: quantile(lags, 0.5),
    p99: quantile(lags, 0.99),
    events: appends.length,
    missing: appends.length - lags.length,
  };
}
