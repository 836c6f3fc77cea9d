import { freshTraceparent, traceIdOf, traceparentNow, withSpan } from '@angelia/sessions';
import { SpanKind } from '@opentelemetry/api';
import type { Received } from './receive/receive.ts';

/**
 * The trace that everything of the session belongs to (invariant one-trace): the sender's own, if it sent one and is
 * authenticated, else one that begins here. A stranger must not choose which trace its webhook is filed under.
 * Telemetry off is no reason to have none: the id also joins log lines and events.
 */
export function traceOf(received: Received): string {
  return traceparentNow() ?? trustedTraceparent(received) ?? freshTraceparent();
}

/**
 * The request's server span, for an authenticated request. Telemetry's own http spans leave webhooks out (service-kit,
 * telemetry.ts): they would join the trace of the header before anybody knows whose header it is.
 */
export function inOwnSpan<T>(received: Received, take: () => Promise<T>): Promise<T> {
  return withSpan(
    `webhook ${received.route.name}`,
    {
      kind: SpanKind.SERVER,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/webhooks/:route',
        'angelia.route': received.route.name,
      },
      parent: trustedTraceparent(received) ?? NEW_TRACE,
    },
    take,
  );
}

/** Unreadable on purpose: withSpan begins a trace for it, whatever is active. */
const NEW_TRACE = '';

function trustedTraceparent({ route, headers }: Received): string | null {
  const given = headers.traceparent;
  const continues = route.access.kind === 'secret' && typeof given === 'string' && isWhole(given);
  return continues ? given : null;
}

/** W3C trace context, version 00: later versions may carry more, which nothing here would understand. */
const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

function isWhole(traceparent: string): boolean {
  return TRACEPARENT.test(traceparent) && traceIdOf(traceparent) !== undefined;
}
