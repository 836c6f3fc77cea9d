import type { EventLog } from '@angelia/event-log';
import { metrics } from '@opentelemetry/api';
import type { Duties } from './duties.ts';
import { tracingIsOn } from './tracing.ts';

/** How far behind the log its readers are. Exported by whoever leads the relay, so that each figure is there once. */
export function exportLag(log: Pick<EventLog, 'health'>, duties: Pick<Duties, 'leading'>): void {
  if (!tracingIsOn()) return;
  const meter = metrics.getMeter('angelia');
  const gauge = (name: string, description: string) =>
    meter.createObservableGauge(name, { description, unit: 'ms' });
  const tail = gauge(
    'angelia.tail.lag',
    'Age of the oldest event that an open transaction hides from the tail',
  );
  const relay = gauge('angelia.relay.lag', 'Age of the oldest event that was not hinted yet');
  const views = gauge('angelia.projection.lag', 'Age of the oldest event that the views do not show yet');
  const dead = meter.createObservableGauge('angelia.dead_letters', {
    description: 'Events that no handler could process',
  });
  meter.addBatchObservableCallback(
    async (observer) => {
      if (!duties.leading().includes('relay')) return;
      const health = await log.health();
      observer.observe(tail, health.tailLagMs);
      observer.observe(relay, health.relayLagMs);
      observer.observe(views, health.projectionLagMs);
      observer.observe(dead, health.deadLetters);
    },
    [tail, relay, views, dead],
  );
}
