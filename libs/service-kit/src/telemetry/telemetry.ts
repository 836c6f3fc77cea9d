import type { IncomingMessage } from 'node:http';
import type { Environment } from '@angelia/config';
import { setTracing } from '@angelia/sessions';
import { DiagLogLevel, diag, metrics } from '@opentelemetry/api';
import type { Logger } from '../logs/logger.ts';
import { allMetrics } from '../metrics/catalogue.ts';
import { exportOverOtlp } from '../metrics/otlp.ts';

export interface Telemetry {
  /** Sends what is still held, for at most `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
}

const off: Telemetry = { flush: async () => {} };

/**
 * Traces and metrics over OTLP/HTTP, when OTEL_EXPORTER_OTLP_ENDPOINT is set; the other OTEL_* variables mean what
 * the OpenTelemetry specification says (sampler: parentbased_always_on by default). Must have run before Fastify
 * requires node:http, which is instrumented at that moment. Nothing of the SDK is loaded when it is off: it takes 35 to
 * 50 MB and 0.8 s of start.
 */
export async function startTelemetry(environment: Environment, logger: Logger): Promise<Telemetry> {
  if (environment.otlpEndpoint === undefined) return off;
  // JSON over HTTP unless told otherwise: every collector takes it, and a person can read it on the wire.
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
    // The relay and the projections poll all day: without this each poll would be a trace.
    requireParentSpan: true,
    ignoreConnectSpans: true,
    // Statement parameters hold what senders and models wrote.
    enhancedDatabaseReporting: false,
  });
  const sdk = new NodeSDK({
    serviceName: process.env.OTEL_SERVICE_NAME ?? `angelia-${environment.service}`,
    // Logs go to stdout as JSON lines and carry the trace id; sending them a second time is the collector's job.
    logRecordProcessors: [],
    instrumentations: [
      new HttpInstrumentation({
        ignoreIncomingRequestHook: ({ url = '' }) => isProbe(url) || isWebhook(url) || isSignedLink(url),
        requestHook: (span, request) => {
          // One that comes in, not one that we make.
          if ('httpVersion' in request) span.updateName(nameOfCall(request));
        },
        // Exporting must not trace itself, and our own calls to models and targets have spans of their own.
        requireParentforOutgoingSpans: true,
      }),
      postgres,
    ],
  });
  sdk.start();
  // pg is in the bundle, and so not seen while it loads.
  for (const { name, patch } of postgres.getModuleDefinitions()) patch?.(driverModules[name]);
  setTracing(true);
  exportOverOtlp(metrics.getMeter('angelia'), allMetrics);
  return { flush: (timeoutMs) => flush(sdk, timeoutMs, logger) };
}

/** Whoever looks whether we are well does so all day: each look would be a trace. */
function isProbe(url: string): boolean {
  return ['/healthz', '/readyz', '/health', '/metrics'].includes(url.split('?', 1)[0] ?? '');
}

const CALL =
  /^(\/v1\/(?:sessions|deliveries|processes|routes|webhooks|dead-letters))(\/[^/?]+)?(\/[a-z]+)?(?:\?|$)/;

/** `GET /v1/sessions/{id}/events`. What is no call of ours is known by its method only: anybody can make paths up. */
function nameOfCall({ method = 'GET', url = '' }: IncomingMessage): string {
  const [, list, one = '', part = ''] = CALL.exec(url) ?? [];
  if (list === undefined) return method;
  const which = one === '' || one === '/retry' || one === '/counts' ? one : '/{id}';
  return `${method} ${list}${which}${part}`;
}

/**
 * The span of an incoming request goes on with the trace of its `traceparent`. A webhook is anybody's until its
 * signature was checked, so that ingress makes its span itself, after that.
 */
function isWebhook(url: string): boolean {
  return url.includes('/webhooks/');
}

/** Its span would hold the token, which is all that is needed to use the link; and it is anybody's until it was checked. */
function isSignedLink(url: string): boolean {
  return url.includes('/answers/') || url.includes('/callbacks/');
}

async function flush(sdk: { shutdown(): Promise<void> }, timeoutMs: number, logger: Logger): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), timeoutMs);
  });
  try {
    const ended = await Promise.race([sdk.shutdown(), late]);
    if (ended === 'late') logger.warn({ timeout_ms: timeoutMs }, 'the last spans could not be sent in time');
  } catch (error) {
    logger.warn({ err: error }, 'the last spans could not be sent');
  } finally {
    clearTimeout(timer);
    setTracing(false);
  }
}
