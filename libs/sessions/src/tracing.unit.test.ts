import { afterEach, describe, expect, it } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { contextFrom, freshTraceparent, setTracing, traceIdOf, traceparentNow, withSpan } from './tracing.ts';

afterEach(() => setTracing(false));

describe('tracing', () => {
  it('does nothing and has no trace context while it is off', async () => {
    const seen = await withSpan('x', {}, async (span) => span.isRecording());
    expect(seen).toBe(false);
    expect(traceparentNow()).toBeUndefined();
  });

  it('returns what the work returns, and passes its error on', async () => {
    for (const on of [false, true]) {
      setTracing(on);
      expect(await withSpan('x', { attributes: { a: 1 } }, async () => 7)).toBe(7);
      await expect(withSpan('x', {}, async () => Promise.reject(new Error('boom')))).rejects.toThrow('boom');
    }
  });

  it('reads a traceparent, and starts a new trace for an unreadable one', () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    expect(trace.getSpanContext(contextFrom(traceparent))).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      traceFlags: 1,
    });
    for (const bad of ['', 'x', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]) {
      expect(trace.getSpanContext(contextFrom(bad))).toBeUndefined();
    }
  });

  it('makes a trace id for a session that starts while telemetry is off', () => {
    expect(traceIdOf(freshTraceparent())).toMatch(/^[0-9a-f]{32}$/);
    expect(traceIdOf(undefined)).toBeUndefined();
  });
});
