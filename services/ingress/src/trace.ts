import { freshTraceparent, traceIdOf, traceparentNow } from '@angelia/service-kit';
import type { Received } from './receive.ts';

/**
 * The trace that everything of the session belongs to (invariant one-trace). With telemetry on it is the trace of the
 * request's span. Otherwise an authenticated sender's own trace goes on, and anybody else's begins here: a stranger
 * must not choose which trace its webhook is filed under. Telemetry off is no reason to have none: the id also joins
 * log lines and events.
 */
export function traceOf({ route, headers }: Received): string {
  const active = traceparentNow();
  if (active !== undefined) return active;
  const given = headers.traceparent;
  const continues = route.access.kind === 'secret' && typeof given === 'string' && isWhole(given);
  return continues ? given : freshTraceparent();
}

/** W3C trace context, version 00: later versions may carry more, which nothing here would understand. */
const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

function isWhole(traceparent: string): boolean {
  return TRACEPARENT.test(traceparent) && traceIdOf(traceparent) !== undefined;
}
