import { describe, expect, it } from '@jest/globals';
import { backoffMs, deliveriesOf, retryIn } from './acknowledgement.ts';

describe('a retry', () => {
  it('waits longer with each delivery and never more than 30 s', () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 50, 5_000].map(backoffMs);
    for (const [i, delay] of delays.entries()) {
      expect(delay).toBeLessThanOrEqual(30_000);
      if (i > 0 && i < 7) expect(delay).toBeGreaterThan((delays[i - 1] as number) * 1.4);
    }
    expect(delays[0]).toBeLessThanOrEqual(250);
    expect(delays.at(-1)).toBeGreaterThan(20_000);
  });

  it('is a nak with the delay in nanoseconds', () => {
    expect(retryIn(1.6)).toBe('-NAK {"delay":2000000}');
    expect(retryIn(-5)).toBe('-NAK {"delay":1000000}');
  });

  it('reads the count of deliveries from the ack subject of old and new servers', () => {
    expect(deliveriesOf('$JS.ACK.S.C.3.10.11.1700000000.0')).toBe(3);
    expect(deliveriesOf('$JS.ACK._.hash.S.C.4.10.11.1700000000.0.random')).toBe(4);
    expect(deliveriesOf(undefined)).toBe(1);
  });
});
