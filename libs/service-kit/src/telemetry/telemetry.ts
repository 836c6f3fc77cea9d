import type { IncomingMessage } from 'node:http';
import { type Environment, hasSignedLink } from '@angelia/config';
import { isSessionId } from '@angelia/contracts';
import { SESSION_ID, setTracing, spanIds } from '@angelia/sessions';
import { LATE, within } from '@angelia/waiting';
import { DiagLogLevel, diag, metrics } from '@opentelemetry/api';
import { KnownSecrets } from '../logs/known-secrets.ts';
import type { Logger } from '../logs/logger.ts';
import { allMetrics } from '../metrics/catalogue.ts';
import { exportOverOtlp } from '../metrics/otlp.ts';
import { VERSION } from '../version.ts';
import { captureContent } from './captured-content.ts';

export interface Telemetry {
  /** Sends what is still buffered, within `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
}

const off: Telemetry = { flush: async () => {} };

/**
 * Exports traces and metrics over OTLP if OTEL_EXPORTER_OTLP_ENDPOINT is set, or one of them if it has an endpoint of its own
 * (OTEL_EXPORTER_OTLP_TRACES_ENDPOINT). The other OTEL_* variables mean what the OpenTelemetry specification says (default
 * protocol: http/protobuf; default sampler: parentbased_always_on). It must run before Fastify requires
 * node:http, which is instrumented at that moment. If telemetry is off, nothing of the SDK is loaded: it takes 35 to 50 MB
 * and 0.8 s at the start.
 *
 * @param secrets values of config and environment that no span may hold
 */
export async function startTelemetry(
  environment: Environment,
  logger: Logger,
  secrets: KnownSecrets = new KnownSecrets(),
): Promise<Telemetry> {
  const { traces, metrics: withMetrics } = environment.otlp;
  if (!traces && !withMetrics) return off;
  // Without an endpoint, the SDK would send to localhost:4318.
  if (!traces) process.env.OTEL_TRACES_EXPORTER = 'none';
  if (!withMetrics) process.env.OTEL_METRICS_EXPORTER = 'none';
  const [{ NodeSDK }, { HttpInstrumentation }, statements] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/instrumentation-http'),
    traces && environment.traceInternals ? statementSpans() : null,
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
  const sdk = new NodeSDK({
    serviceName: process.env.OTEL_SERVICE_NAME ?? `angelia-${environment.service}`,
    idGenerator: spanIds,
    // Logs go to stdout as JSON lines with the trace id. A collector can read them there.
    logRecordProcessors: [],
    instrumentations: [
      new HttpInstrumentation({
        ignoreIncomingRequestHook: hasNoSpan,
        requestHook: (span, request) => {
          // An incoming request, not one of ours.
          if (!('httpVersion' in request)) return;
          const { name, sessionId } = describeCall(request);
          span.updateName(name);
          if (sessionId !== null) span.setAttribute(SESSION_ID, sessionId);
        },
        // The export must not trace itself, and our calls to models and targets have their own spans.
        requireParentforOutgoingSpans: true,
      }),
      ...(statements === null ? [] : [statements.instrumentation]),
    ],
  });
  startAs(sdk, environment.instance);
  statements?.patch();
  setTracing(traces, { internals: environment.traceInternals });
  captureContent(environment.captureContent, (text) => secrets.scrub(text));
  if (withMetrics) exportOverOtlp(metrics.getMeter('angelia'), allMetrics);
  return { flush: (timeoutMs) => flush(sdk, timeoutMs, logger) };
}

/**
 * `service.instance.id` and `service.version`, which tell replicas and releases apart. The SDK's own detector makes a random
 * id for each process. What the operator sets in OTEL_RESOURCE_ATTRIBUTES wins, since the last value of a key counts.
 */
function startAs(sdk: { start(): void }, instance: string): void {
  const given = process.env.OTEL_RESOURCE_ATTRIBUTES;
  const ours = `service.version=${VERSION},service.instance.id=${encodeURIComponent(instance)}`;
  process.env.OTEL_RESOURCE_ATTRIBUTES = given ? `${ours},${given}` : ours;
  sdk.start();
  // Commands that process-watcher starts may use OpenTelemetry too, and are not this service.
  if (given === undefined) delete process.env.OTEL_RESOURCE_ATTRIBUTES;
  else process.env.OTEL_RESOURCE_ATTRIBUTES = given;
}

/** SQL statements, as spans below those that need them. */
async function statementSpans() {
  const [{ PgInstrumentation }, { driverModules }] = await Promise.all([
    import('@opentelemetry/instrumentation-pg'),
    import('@angelia/event-log'),
  ]);
  const instrumentation = new PgInstrumentation({
    // The relay and the projection poll all day: without this, each poll would be a trace.
    requireParentSpan: true,
    ignoreConnectSpans: true,
    // Parameters of statements hold what senders and models wrote.
    enhancedDatabaseReporting: false,
  });
  return {
    instrumentation,
    patch: () => {
      // pg is inside the bundle, so the instrumentation does not see it being loaded.
      for (const { name, patch } of instrumentation.getModuleDefinitions()) patch?.(driverModules[name]);
    },
  };
}

/**
 * The span of a request to a signed link would hold the token, which is enough to use the link. And anybody can send such a
 * request until the token is checked.
 */
export function hasNoSpan({ method, url = '' }: Pick<IncomingMessage, 'method' | 'url'>): boolean {
  return isRead(method) || isWebhook(url) || isChatUpdate(url) || hasSignedLink(url) || isSignIn(url);
}

/** Probes, scrapes, and what the command line and the console read all day: each would be a trace. */
function isRead(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

const CALL =
  /^(\/v1\/(?:sessions|deliveries|processes|routes|webhooks|dead-letters|console))(\/[^/?]+)?(\/[a-z]+)?(?:\?|$)/;

/** `POST /v1/sessions/{id}/cancel`. A request to an unknown path has only its method as a name: anybody can make paths up. */
function describeCall({ method = 'POST', url = '' }: IncomingMessage): {
  readonly name: string;
  readonly sessionId: string | null;
} {
  const [, list, one = '', part = ''] = CALL.exec(url) ?? [];
  if (list === undefined) return { name: method, sessionId: null };
  const sessionId = list === '/v1/sessions' && isSessionId(one.slice(1)) ? one.slice(1) : null;
  const which = one === '' || one === '/retry' || one === '/counts' || one === '/links' ? one : '/{id}';
  return { name: `${method} ${list}${which}${part}`, sessionId };
}

/**
 * The span of an incoming request continues the trace of its `traceparent`. Anybody can send a webhook until its signature
 * is checked, so ingress makes that span itself, after the check.
 */
function isWebhook(url: string): boolean {
  return url.includes('/webhooks/');
}

/** The same for updates of chats, which ingress traces once it knows who speaks. Not for `/v1/chats/`. */
function isChatUpdate(url: string): boolean {
  return /(?<!\/v1)\/chats\//.test(url);
}

/** Anybody can send one, and it holds a secret in its body. */
function isSignIn(url: string): boolean {
  return url.includes('/console/session');
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
