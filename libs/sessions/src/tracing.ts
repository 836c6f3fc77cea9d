import { randomFillSync } from 'node:crypto';
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';

interface SpanOptions {
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** W3C traceparent of the event or hint that caused this work. Default: the active span is the parent. */
  readonly parent?: string | undefined;
  /** Coalesced webhooks and continued sessions: linked, not joined (invariant one-trace). */
  readonly links?: readonly string[];
}

let isOn = false;

/** Service-kit sets it once the SDK runs. While it is off, a span costs one branch and no allocation. */
export function setTracing(value: boolean): void {
  isOn = value;
}

const noSpan = trace.wrapSpanContext({
  traceId: '00000000000000000000000000000000',
  spanId: '0000000000000000',
  traceFlags: TraceFlags.NONE,
});

/** Runs `fn` in its own span. An error marks the span and is thrown on. */
export function withSpan<T>(name: string, options: SpanOptions, fn: (span: Span) => Promise<T>): Promise<T> {
  return isOn ? inSpan(name, options, fn) : fn(noSpan);
}

async function inSpan<T>(name: string, options: SpanOptions, fn: (span: Span) => Promise<T>): Promise<T> {
  const parent = options.parent === undefined ? context.active() : contextFrom(options.parent);
  const links = (options.links ?? []).flatMap((traceparent): Link[] => {
    const linked = spanContextFrom(traceparent);
    return linked === null ? [] : [{ context: linked }];
  });
  // Not asked for earlier: a tracer of the bundle's API from before the start of the SDK never learns of the SDK.
  const span = trace.getTracer('angelia').startSpan(
    name,
    {
      ...(options.kind === undefined ? {} : { kind: options.kind }),
      ...(options.attributes === undefined ? {} : { attributes: options.attributes }),
      links,
    },
    parent,
  );
  try {
    return await context.with(trace.setSpan(parent, span), () => fn(span));
  } catch (error) {
    // Only the class and the code: a message may quote what a sender or a model wrote.
    span.setStatus({ code: SpanStatusCode.ERROR, message: errorLabel(error) });
    throw error;
  } finally {
    span.end();
  }
}

/** Links the active span to another trace, for coalesced webhooks and continuations. */
export function linkActiveSpan(traceparent: string | null | undefined): void {
  if (!isOn || traceparent == null) return;
  const linked = spanContextFrom(traceparent);
  if (linked !== null) trace.getActiveSpan()?.addLink({ context: linked });
}

/** Runs `fn` as a part of another trace, without its own span. */
export function withinTrace<T>(traceparent: string, fn: () => T): T {
  return isOn ? context.with(contextFrom(traceparent), fn) : fn();
}

function errorLabel(error: unknown): string {
  if (!(error instanceof Error)) return 'error';
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? `${error.name} ${code}` : error.name;
}

/** For event metadata and message headers. */
export function traceparentNow(): string | undefined {
  if (!isOn) return undefined;
  const active = trace.getSpanContext(context.active());
  return active !== undefined && isSpanContextValid(active) ? traceparentOf(active) : undefined;
}

export function traceIdNow(): string | undefined {
  return isOn ? trace.getSpanContext(context.active())?.traceId : undefined;
}

/** A new trace for a session that starts while telemetry is off: its id still joins log lines and events. */
export function freshTraceparent(): string {
  if (randomUsed + FRESH_BYTES > RANDOM.length) {
    randomFillSync(RANDOM);
    randomUsed = 0;
  }
  const traceId = RANDOM.toString('hex', randomUsed, randomUsed + 16);
  const spanId = RANDOM.toString('hex', randomUsed + 16, randomUsed + FRESH_BYTES);
  randomUsed += FRESH_BYTES;
  return `00-${traceId}-${spanId}-00`;
}

/** Random bytes are fetched for many at once: two calls into the kernel per webhook were 8% of the CPU time of ingress. */
const FRESH_BYTES = 24;
const RANDOM = Buffer.allocUnsafe(FRESH_BYTES * 128);
let randomUsed = RANDOM.length;

export function traceIdOf(traceparent: string | undefined): string | undefined {
  return traceparent === undefined ? undefined : spanContextFrom(traceparent)?.traceId;
}

/** The context for work that `traceparent` caused. An unreadable one starts a new trace. */
export function contextFrom(traceparent: string): Context {
  const remote = spanContextFrom(traceparent);
  return remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote);
}

function traceparentOf(spanContext: SpanContext): string {
  return `00-${spanContext.traceId}-${spanContext.spanId}-${spanContext.traceFlags.toString(16).padStart(2, '0')}`;
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;

function spanContextFrom(traceparent: string): SpanContext | null {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(spanContext) ? spanContext : null;
}
