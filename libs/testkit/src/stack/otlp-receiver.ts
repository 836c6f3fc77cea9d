import { gunzipSync } from 'node:zlib';
import { listen, readBody } from '../network/http-server.ts';
import { eventually } from '../waiting/eventually.ts';

export interface ReceivedSpan {
  readonly service: string;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** '' for a root span. */
  readonly parentSpanId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: 'unset' | 'ok' | 'error';
  readonly statusMessage: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** A metric as it was last received from one service. */
export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly points: readonly {
    readonly attributes: Readonly<Record<string, unknown>>;
    /** Of a histogram. */
    readonly bounds: readonly number[];
    readonly count: number;
    readonly sum: number;
  }[];
}

export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  readonly spans: readonly ReceivedSpan[];
  /** The raw bodies of all traces and metrics, for tests of what must not be in them. */
  readonly bodies: readonly string[];
  /** Every request, whatever its protocol. */
  readonly requests: readonly { readonly path: string; readonly contentType: string }[];
  /** Requests that could not be parsed. Must be empty at the end of a test. */
  readonly problems: readonly string[];
  spansOf(traceId: string): ReceivedSpan[];
  /** Every export of this metric so far, of all services. */
  metrics(name: string): ReceivedMetric[];
  /** Waits until the trace has a span with each of these names, and returns all its spans. */
  traceWith(traceId: string, names: readonly string[]): Promise<ReceivedSpan[]>;
  stop(): Promise<void>;
}

/**
 * Accepts OTLP over HTTP and reads it if it is JSON (OTEL_EXPORTER_OTLP_PROTOCOL=http/json). Of protobuf it only notes that it
 * came. Anything else becomes an entry in `problems`.
 */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const problems: string[] = [];
  const requests: { path: string; contentType: string }[] = [];
  const listening = await listen(async (request, response) => {
    try {
      const body = await readBody(request);
      const type = request.headers['content-type'] ?? '';
      requests.push({ path: request.url ?? '', contentType: type });
      if (type === 'application/x-protobuf') {
        response.writeHead(200, { 'content-type': type }).end();
        return;
      }
      if (!type.startsWith('application/json')) throw new Error(`${request.url}: content-type ${type}`);
      const text = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
      const sent = text.toString('utf8');
      bodies.push(sent);
      if (request.url === '/v1/traces') spans.push(...spansIn(JSON.parse(sent) as TraceExport));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    } catch (error) {
      problems.push(String(error));
      response.writeHead(400).end();
    }
  });
  const spansOf = (traceId: string) => spans.filter((span) => span.traceId === traceId);
  return {
    endpoint: listening.url,
    spans,
    bodies,
    requests,
    problems,
    spansOf,
    metrics: (name) => bodies.flatMap((body) => metricsIn(body, name)),
    traceWith: (traceId, names) =>
      eventually(
        () => {
          const found = spansOf(traceId);
          return names.every((name) => found.some((span) => span.name === name)) && found;
        },
        {
          describe: () =>
            `trace ${traceId} with spans ${names.join(', ')}; has ${spansOf(traceId).map((span) => span.name)}`,
        },
      ),
    stop: listening.stop,
  };
}

/** ExportTraceServiceRequest in its JSON form: ids are hex strings, 64-bit integers are strings. */
interface TraceExport {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly KeyValue[] };
    readonly scopeSpans?: readonly { readonly spans?: readonly WireSpan[] }[];
  }[];
}
interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes?: readonly KeyValue[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number; readonly message?: string };
  /** Nanoseconds since 1970. */
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}
interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

function spansIn(body: TraceExport): ReceivedSpan[] {
  return (body.resourceSpans ?? []).flatMap((resource) => {
    const described = attributesOf(resource.resource?.attributes);
    const service = String(described['service.name'] ?? '');
    return (resource.scopeSpans ?? []).flatMap((scope) =>
      (scope.spans ?? []).map((span) => ({
        service,
        resource: described,
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        attributes: attributesOf(span.attributes),
        links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
        status: (['unset', 'ok', 'error'] as const)[span.status?.code ?? 0] ?? 'unset',
        statusMessage: span.status?.message ?? '',
        startMs: millisecondsOf(span.startTimeUnixNano),
        endMs: millisecondsOf(span.endTimeUnixNano),
      })),
    );
  });
}

/** To the microsecond: that many nanoseconds are more than a number can hold exactly. */
function millisecondsOf(nanoseconds: string): number {
  return Number(BigInt(nanoseconds) / 1_000n) / 1_000;
}

interface MetricExport {
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics?: readonly {
      readonly metrics?: readonly {
        readonly name: string;
        readonly unit?: string;
        readonly histogram?: {
          readonly dataPoints?: readonly {
            readonly attributes?: readonly KeyValue[];
            readonly explicitBounds?: readonly number[];
            readonly count?: string | number;
            readonly sum?: number;
          }[];
        };
      }[];
    }[];
  }[];
}

function metricsIn(body: string, name: string): ReceivedMetric[] {
  if (!body.includes(`"name":"${name}"`)) return [];
  const sent = JSON.parse(body) as MetricExport;
  const all = (sent.resourceMetrics ?? []).flatMap(({ scopeMetrics = [] }) =>
    scopeMetrics.flatMap(({ metrics = [] }) => metrics),
  );
  return all
    .filter((metric) => metric.name === name)
    .map(({ unit = '', histogram }) => ({
      name,
      unit,
      points: (histogram?.dataPoints ?? []).map(
        ({ attributes, explicitBounds = [], count = 0, sum = 0 }) => ({
          attributes: attributesOf(attributes),
          bounds: explicitBounds,
          count: Number(count),
          sum,
        }),
      ),
    }));
}

function attributesOf(pairs: readonly KeyValue[] = []): Record<string, unknown> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, plain(value)]));
}

function plain(value: KeyValue['value']): unknown {
  const list = value.arrayValue as { readonly values?: readonly KeyValue['value'][] } | undefined;
  if (list !== undefined) return (list.values ?? []).map(plain);
  return value.stringValue ?? value.intValue ?? value.doubleValue ?? value.boolValue ?? value;
}
