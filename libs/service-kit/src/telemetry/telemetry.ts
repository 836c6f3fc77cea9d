import type { IncomingMessage } from 'node:http';
import type { Environment } from '@angelia/config';
import { setTracing } from '@angelia/sessions';
import { LATE, within } from '@angelia/waiting';
import { DiagLogLevel, diag, metrics } from '@opentelemetry/api';
import type { Logger } from '../logs/logger.ts';
import { allMetrics } from '../metrics/catalogue.ts';
import { exportOverOtlp } from '../metrics/otlp.ts';

export interface Telemetry {
  /** Sends what is still buffered, within `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
}

const off: Telemetry = { flush: async () => {} };

/**
 * Exports traces and metrics over OTLP/HTTP if OTEL_EXPORTER_OTLP_ENDPOINT is set. The other OTEL_* variables mean what the
 * OpenTelemetry specification says (default sampler: parentbased_always_on). It must run before Fastify requires
 * node:http, which is instrumented at that moment. If telemetry is off, nothing of the SDK is loaded: it takes 35 to 50 MB
 * and 0.8 s at the start.
 */
export async function startTelemetry(environment: Environment, logger: Logger): Promise<Telemetry> {
  if (environment.otlpEndpoint === undefined) return off;
  // JSON over HTTP by default: every collector takes it, and a person can read it on the wire.
  process.env.OTEL_EXPORTER_OTLP_PROTOCOL ??= 'http/json';
  const [{ NodeSDK }, { HttpInstrumentation }, { PgInstrumentation }, { driverModules }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/instrumentation-http'),
    import('@opentelemetry/instrumentation-pg'),
    import('@angelia/event-log'),
  ]);
  diag.setLogger(
    {
      error: (message) => logger.error({ telemetry: true }, message),
      warn: (message) => logger.warn({ telemetry: true }, message),
      info: (message) => logger.info({ telemetry: true }, message),
      debug: (message) => logger.debug({ telemetry: true }, message),
      verbose: (message) => logger.trace({ telemetry: true }, message),
    },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const postgres = new PgInstrumentation({
    // The relay and the projection poll all day: without this, each poll would be a trace.
    requireParentSpan: true,
    ignoreConnectSpans: true,
    // Parameters of statements hold what senders and models wrote.
    enhancedDatabaseReporting: false,
  });
  const sdk = new NodeSDK({
    serviceName: process.env.OTEL_SERVICE_NAME ?? `angelia-${environment.service}`,
    // Logs go to stdout as JSON lines with the trace id. A collector can read them there.
    logRecordProcessors: [],
    instrumentations: [
      new HttpInstrumentation({
        ignoreIncomingRequestHook: ({ url = '' }) => isProbe(url) || isWebhook(url) || isSignedLink(url),
        requestHook: (span, request) => {
          // An incoming request, not one of ours.
          if ('httpVersion' in request) span.updateName(nameOfCall(request));
        },
        // The export must not trace itself, and our calls to models and targets have their own spans.
        requireParentforOutgoingSpans: true,
      }),
      postgres,
    ],
  });
  sdk.start();
  // pg is inside the bundle, so the instrumentation does not see it being loaded.
  for (const { name, patch } of postgres.getModuleDefinitions()) patch?.(driverModules[name]);
  setTracing(true);
  exportOverOtlp(metrics.getMeter('angelia'), allMetrics);
  return { flush: (timeoutMs) => flush(sdk, timeoutMs, logger) };
}

/** Probes come all day: each would be a trace. */
function isProbe(url: string): boolean {
  return ['/healthz', '/readyz', '/health', '/metrics'].includes(url.split('?', 1)[0] ?? '');
}

const CALL =
  /^(\/v1\/(?:sessions|deliveries|processes|routes|webhooks|dead-letters))(\/[^/?]+)?(\/[a-z]+)?(?:\?|$)/;

/** `GET /v1/sessions/{id}/events`. A request to an unknown path has only its method as a name: anybody can make paths up. */
function nameOfCall({ method = 'GET', url = '' }: IncomingMessage): string {
  const [, list, one = '', part = ''] = CALL.exec(url) ?? [];
  if (list === undefined) return method;
  const which = one === '' || one === '/retry' || one === '/counts' ? one : '/{id}';
  return `${method} ${list}${which}${part}`;
}

/**
 * The span of an incoming request continues the trace of its `traceparent`. Anybody can send a webhook until its signature
 * is checked, so ingress makes that span itself, after the check.
 */
function isWebhook(url: string): boolean {
  return url.includes('/webhooks/');
}

/** Its span would hold the token, which is enough to use the link. And anybody can send one until it is checked. */
function isSignedLink(url: string): boolean {
  return url.includes('/answers/') || url.includes('/callbacks/');
}

async function flush(sdk: { shutdown(): Promise<void> }, timeoutMs: number, logger: Logger): Promise<void> {
  try {
    const ended = await within(timeoutMs, sdk.shutdown());
    if (ended === LATE) logger.warn({ timeout_ms: timeoutMs }, 'the last spans were not sent in time');
  } catch (error) {
    logger.warn({ err: error }, 'the last spans could not be sent');
  } finally {
    setTracing(false);
  }
}
