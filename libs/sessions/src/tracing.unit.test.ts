import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import {
  childTraceparent,
  contextFrom,
  freshTraceparent,
  recordSpan,
  setTracing,
  spanIds,
  traceIdOf,
  traceparentNow,
  withInternalSpan,
  withSpan,
} from './tracing.ts';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

afterEach(() => setTracing(false));

describe('tracing', () => {
  it('does nothing and has no trace context while it is off', async () => {
    const describeSpan = jest.fn(() => ({ name: 'x', parent: TRACEPARENT }));
    const seen = await withSpan(describeSpan, async (span) => span.isRecording());
    expect(seen).toBe(false);
    expect(await withInternalSpan(describeSpan, async () => traceparentNow())).toBeUndefined();
    // What describes the span is not even made.
    expect(describeSpan).not.toHaveBeenCalled();
    recordSpan({ name: 'x', parent: TRACEPARENT, startMs: 0, endMs: 1 });
    expect(traceparentNow()).toBeUndefined();
  });

  it('returns what the work returns, and passes its error on', async () => {
    for (const on of [false, true]) {
      setTracing(on);
      expect(
        await withSpan(
          () => ({ name: 'x', attributes: { a: 1 } }),
          async () => 7,
        ),
      ).toBe(7);
      await expect(
        withSpan(
          () => ({ name: 'x' }),
          async () => Promise.reject(new Error('boom')),
        ),
      ).rejects.toThrow('boom');
    }
  });

  it('reads a traceparent, and starts a new trace for an unreadable one', () => {
    expect(trace.getSpanContext(contextFrom(TRACEPARENT))).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      traceFlags: 1,
    });
    for (const bad of ['', 'x', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]) {
      expect(trace.getSpanContext(contextFrom(bad))).toBeUndefined();
    }
  });

  it('hands out the context of a span before the span exists', () => {
    const child = childTraceparent(TRACEPARENT);
    expect(child).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
    expect(child).not.toBe(TRACEPARENT);
    expect(childTraceparent(TRACEPARENT)).not.toBe(child);
  });

  it('gives the SDK ids of the right length', () => {
    expect(spanIds.generateTraceId()).toMatch(/^[0-9a-f]{32}$/);
    expect(spanIds.generateSpanId()).toMatch(/^[0-9a-f]{16}$/);
    expect(spanIds.generateSpanId()).not.toBe(spanIds.generateSpanId());
  });

  it('makes a trace id for a session that starts while telemetry is off', () => {
    expect(traceIdOf(freshTraceparent())).toMatch(/^[0-9a-f]{32}$/);
    expect(traceIdOf(undefined)).toBeUndefined();
  });
});
