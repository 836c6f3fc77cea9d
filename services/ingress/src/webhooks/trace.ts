import {
  freshTraceparent,
  isTracing,
  markFailed,
  nameActiveSession,
  traceIdOf,
  traceparentNow,
  withSpan,
} from '@angelia/sessions';
import { type Span, SpanKind } from '@opentelemetry/api';
import { errorAnswer } from '../http/answer-error.ts';
import type { Received } from './receive/receive.ts';

/**
 * The trace of everything in the session (invariant one-trace): the sender's own if it sent one and is authenticated,
 * else a new one. An unauthenticated sender must not choose the trace of its webhook.
 * A trace exists even if telemetry is off, because its id also connects log lines and events.
 */
export function traceOf(received: Received): string {
  return traceparentNow() ?? trustedTraceparent(received) ?? freshTraceparent();
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, string | number | null>>;
}

/**
 * The server span of an authenticated request. Telemetry's own http spans leave webhooks out (service-kit,
 * telemetry.ts), because they would join the trace of the header before the sender is authenticated.
 */
export async function inServerSpan<A extends Answer>(received: Received, take: () => Promise<A>): Promise<A> {
  if (!isTracing()) return take();
  const { route } = received;
  const taken = await withSpan(
    () => ({
      name: `webhook ${route.name}`,
      kind: SpanKind.SERVER,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/webhooks/:route',
        'angelia.route': route.name,
      },
      parent: trustedTraceparent(received) ?? NEW_TRACE,
    }),
    async (span) => {
      try {
        const answer = await take();
        setStatus(span, answer.status);
        const { session_id: session } = answer.body;
        if (typeof session === 'string') nameActiveSession(session);
        return { answer };
      } catch (error) {
        setStatus(span, errorAnswer(error).status);
        return { error };
      }
    },
  );
  if ('error' in taken) throw taken.error;
  return taken.answer;
}

/** By the conventions of HTTP, a wrong request of a sender is not an error of the server. */
function setStatus(span: Span, status: number): void {
  span.setAttribute('http.response.status_code', status);
  if (status >= 500) markFailed(span, String(status));
}

/** Unreadable on purpose: withSpan starts a new trace for it, whatever span is active. */
const NEW_TRACE = '';

function trustedTraceparent({ route, headers }: Received): string | null {
  const given = headers.traceparent;
  const continues = route.access.kind === 'secret' && typeof given === 'string' && isWhole(given);
  return continues ? given : null;
}

/** W3C trace context, version 00. Later versions may carry more, which nothing here understands. */
const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

function isWhole(traceparent: string): boolean {
  return TRACEPARENT.test(traceparent) && traceIdOf(traceparent) !== undefined;
}
