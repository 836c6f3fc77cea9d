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

/**
 * The session's id, under the one key that every span has. It is the key of OpenTelemetry's GenAI conventions for "a
 * conversation (session, thread)", which they allow on other spans too, so that one search finds all spans of a session.
 */
export const SESSION_ID = 'gen_ai.conversation.id';

interface SpanDescription {
  readonly name: string;
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** W3C traceparent of the event or hint that caused this work. Default: the active span is the parent. */
  readonly parent?: string | undefined;
  /** Coalesced webhooks and continued sessions: linked, not joined (invariant one-trace). */
  readonly links?: readonly string[];
}

/** A span that is over, with times from the log. */
interface PastSpan extends SpanDescription {
  readonly parent: string;
  /** The traceparent that was handed out for this span (`childTraceparent`). Default: a new id. */
  readonly own?: string | undefined;
  readonly startMs: number;
  readonly endMs: number;
  /** `error.type` of what failed: a name from a small set, never a message. */
  readonly error?: string | null;
}

let isOn = false;
let withInternals = false;

/** Service-kit sets it once the SDK runs. While it is off, a span costs one branch. */
export function setTracing(on: boolean, options: { readonly internals?: boolean } = {}): void {
  isOn = on;
  withInternals = on && (options.internals ?? false);
}

export function isTracing(): boolean {
  return isOn;
}

const noSpan = trace.wrapSpanContext({
  traceId: '00000000000000000000000000000000',
  spanId: '0000000000000000',
  traceFlags: TraceFlags.NONE,
});

/** Runs `fn` in its own span. An error marks the span and is thrown on. `describe` is only called while tracing is on. */
export function withSpan<T>(describe: () => SpanDescription, fn: (span: Span) => Promise<T>): Promise<T> {
  return isOn ? inSpan(describe(), fn) : fn(noSpan);
}

/**
 * Like withSpan, for how the work is carried (hints) rather than what is done. These spans are off by default, because they
 * would outnumber the others. Then `fn` runs as a part of `parent`, so that no exported span has a parent that is not.
 */
export function withInternalSpan<T>(
  describe: () => SpanDescription & { readonly parent: string },
  fn: () => Promise<T>,
): Promise<T> {
  if (!isOn) return fn();
  const description = describe();
  return withInternals ? inSpan(description, fn) : context.with(contextFrom(description.parent), fn);
}

async function inSpan<T>(description: SpanDescription, fn: (span: Span) => Promise<T>): Promise<T> {
  const parent = description.parent === undefined ? context.active() : contextFrom(description.parent);
  const span = startSpan(description, parent);
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

function startSpan(
  { name, kind, attributes, links }: SpanDescription,
  parent: Context,
  startMs?: number,
): Span {
  // Not asked for earlier: a tracer of the bundle's API from before the start of the SDK never learns of the SDK.
  return trace.getTracer('angelia').startSpan(
    name,
    {
      ...(kind === undefined ? {} : { kind }),
      ...(attributes === undefined ? {} : { attributes }),
      ...(startMs === undefined ? {} : { startTime: hrTime(startMs) }),
      links: (links ?? []).flatMap((traceparent): Link[] => {
        const linked = spanContextFrom(traceparent);
        return linked === null ? [] : [{ context: linked }];
      }),
    },
    parent,
  );
}

/**
 * Exports a span of something that is over. It is told from the events, so it does not matter which process saw its
 * beginning, and whether that process still lives. Call it once: where the event that ends it is appended or first seen.
 */
export function recordSpan(span: PastSpan): void {
  if (!isOn) return;
  spanIds.next = span.own === undefined ? null : (spanContextFrom(span.own)?.spanId ?? null);
  const started = startSpan(span, contextFrom(span.parent), span.startMs);
  spanIds.next = null;
  if (span.error != null) markFailed(started, span.error);
  // A clock that was set back in between must not make it end before it began.
  started.end(hrTime(Math.max(span.startMs, span.endMs)));
}

/** By the conventions, the status needs no message where `error.type` says it all. */
export function markFailed(span: Span, errorType: string): void {
  span.setAttribute('error.type', errorType);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function hrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}

/** For the SDK. It gives a span the id that was handed out for it before the span began. */
export const spanIds = {
  next: null as string | null,
  generateTraceId: (): string => randomHex(16),
  generateSpanId: (): string => spanIds.next ?? randomHex(8),
};

/**
 * The trace context of a span that begins later, below `traceparent` or beside it. An event that starts work carries it, so
 * that whoever does the work can be a child of the span, and whoever sees the end of the work can export the span.
 */
export function childTraceparent(traceparent: string): string {
  return `${traceparent.slice(0, 36)}${randomHex(8)}${traceparent.slice(52)}`;
}

/** Links the active span to another trace, for coalesced webhooks and continuations. */
export function linkActiveSpan(traceparent: string | null | undefined): void {
  if (!isOn || traceparent == null) return;
  const linked = spanContextFrom(traceparent);
  if (linked !== null) trace.getActiveSpan()?.addLink({ context: linked });
}

/** Says of the active span which session it is about. */
export function nameActiveSession(sessionId: string): void {
  if (isOn) trace.getActiveSpan()?.setAttribute(SESSION_ID, sessionId);
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
  return `00-${randomHex(16)}-${randomHex(8)}-00`;
}

/** Random bytes are fetched for many at once: two calls into the kernel per webhook were 8% of the CPU time of ingress. */
const RANDOM = Buffer.allocUnsafe(24 * 128);
let randomUsed = RANDOM.length;

function randomHex(bytes: number): string {
  if (randomUsed + bytes > RANDOM.length) {
    randomFillSync(RANDOM);
    randomUsed = 0;
  }
  randomUsed += bytes;
  return RANDOM.toString('hex', randomUsed - bytes, randomUsed);
}

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
