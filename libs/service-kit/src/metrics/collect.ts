import { within } from '@angelia/waiting';
import { allMetrics } from './catalogue.ts';
import { prometheusText } from './prometheus-text.ts';

/** Sets gauges to their values now. If it throws, they keep their values or report nothing. */
type Collector = () => void | Promise<void>;

const collectors = new Set<Collector>();
let collecting: Promise<void> | null = null;

/**
 * A scraper waits ten seconds. What is not there after two (Postgres hangs) is left out, so that the other figures are there
 * when they are needed most.
 */
const COLLECT_TIMEOUT_MS = 2_000;

/** Calls `collector` before each scrape and each export. Returns a function that ends it. */
export function onCollect(collector: Collector): () => void {
  collectors.add(collector);
  return () => collectors.delete(collector);
}

/** Concurrent calls share one collection: a storm of scrapes makes one round of queries at a time. */
export function collect(): Promise<void> {
  collecting ??= Promise.all([...collectors].map(collectInTime))
    .then(() => {})
    .finally(() => {
      collecting = null;
    });
  return collecting;
}

async function collectInTime(collector: Collector): Promise<void> {
  // A failure is not logged here: the lags and /readyz show an outage.
  const collected = Promise.resolve()
    .then(collector)
    .catch(() => {});
  await within(COLLECT_TIMEOUT_MS, collected);
}

/** The answer to a scrape. */
export async function scrape(): Promise<string> {
  await collect();
  return prometheusText(allMetrics);
}
