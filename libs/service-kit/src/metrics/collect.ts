import { allMetrics } from './catalogue.ts';
import { prometheusText } from './prometheus-text.ts';

/** Reads what is now into gauges. May throw: then they keep what they had, or say nothing. */
type Collector = () => void | Promise<void>;

const collectors = new Set<Collector>();
let collecting: Promise<void> | null = null;

/**
 * A scraper waits ten seconds; what is still not there after two (Postgres that hangs) is left out, so that the rest
 * of the figures is not missed just when they are needed.
 */
const PATIENCE_MS = 2_000;

/** Called before each scrape and each export. Returns how to end it. */
export function onCollect(collector: Collector): () => void {
  collectors.add(collector);
  return () => collectors.delete(collector);
}

/** Several at once share one: a storm of scrapes is one look at Postgres at a time. */
export function collect(): Promise<void> {
  collecting ??= Promise.all([...collectors].map(patiently))
    .then(() => {})
    .finally(() => {
      collecting = null;
    });
  return collecting;
}

async function patiently(collector: Collector): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS);
  });
  // An outage is told by what it makes late, and by /readyz.
  const done = Promise.resolve()
    .then(collector)
    .catch(() => {});
  await Promise.race([done, late]);
  clearTimeout(timer);
}

/** The answer to a scrape. */
export async function scrape(): Promise<string> {
  await collect();
  return prometheusText(allMetrics);
}
