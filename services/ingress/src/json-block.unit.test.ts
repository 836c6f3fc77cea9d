import { describe, expect, it } from '@jest/globals';
import { jsonBlock } from './json-block.ts';

const samples: unknown[] = [
  null,
  true,
  -1.5e300,
  '',
  'plain',
  '"\\\n\u0001\u2028 \ud83d\ude00 \ud800',
  [],
  {},
  [[]],
  [{}],
  { a: [], b: {}, c: [1, [2, [3]], { d: null }], 'k"\n': 'v', '': 0 },
  JSON.parse('{"__proto__": {"x": 1}, "10": "a", "9": "b"}'),
];

describe('a block of JSON', () => {
  it.each(samples.map((sample) => [sample]))('is what JSON.stringify prints of %j', (sample) => {
    expect(jsonBlock(sample, 10_000)).toBe(JSON.stringify(sample, null, 2));
  });

  it('is cut at the limit exactly where the whole text would be', () => {
    const value = { list: samples, more: samples.map((sample) => ({ sample })) };
    const whole = JSON.stringify(value, null, 2);
    for (let limit = 1; limit <= whole.length + 1; limit += 1) {
      const block = jsonBlock(value, limit);
      expect(whole.startsWith(block)).toBe(true);
      expect(block.length).toBeGreaterThanOrEqual(Math.min(limit, whole.length) - 1);
      expect(block.length).toBeLessThanOrEqual(limit);
    }
  });

  it('costs no more than its limit, however deep and wide the value is', () => {
    let deep: unknown = Array.from({ length: 100_000 }, () => 1);
    for (let depth = 0; depth < 200_000; depth += 1) deep = [deep];
    const wide = { text: 'x'.repeat(5_000_000), list: Array.from({ length: 500_000 }, () => ({ a: 1 })) };
    expect(jsonBlock(deep, 4000)).toHaveLength(4000);
    expect(jsonBlock(wide, 4000)).toBe(`{\n  "text": "${'x'.repeat(4000)}`.slice(0, 4000));
    const startedAt = performance.now();
    for (let i = 0; i < 100; i += 1) jsonBlock([deep, wide], 4000);
    // Printing these in full takes minutes or fails; 100 blocks take a few milliseconds.
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
