import { describe, expect, it } from '@jest/globals';
import { indentedJson } from './indented-json.ts';

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

describe('indented JSON', () => {
  it.each(samples.map((sample) => [sample]))('is what JSON.stringify prints for %j', (sample) => {
    expect(indentedJson(sample, 10_000)).toBe(JSON.stringify(sample, null, 2));
  });

  it('is cut at the limit exactly where the whole text would be', () => {
    const value = { list: samples, more: [{ sample: samples.at(-2) }] };
    const whole = JSON.stringify(value, null, 2);
    const limits = Array.from({ length: whole.length + 1 }, (_, n) => n + 1);
    const wrong = limits.filter((limit) => {
      const block = indentedJson(value, limit);
      const isExact = block.length <= limit && block.length >= Math.min(limit, whole.length) - 1;
      return !isExact || !whole.startsWith(block);
    });
    expect(wrong).toEqual([]);
  });

  it('reads no more than fits, however deep and wide the value is', () => {
    let looks = 0;
    const endless = (item: () => unknown) =>
      new Proxy([], {
        get: (_, key) => {
          if (key === 'length') return 2 ** 32;
          looks += 1;
          return item();
        },
      });
    const deep = (): unknown => endless(deep);
    expect(indentedJson(deep(), 4000)).toHaveLength(4000);
    expect(
      indentedJson(
        endless(() => 'x'.repeat(5_000_000)),
        4000,
      ),
    ).toHaveLength(4000);
    expect(
      indentedJson(
        endless(() => ({ a: 1 })),
        4000,
      ),
    ).toHaveLength(4000);
    expect(looks).toBeLessThan(3 * 4000);
  });
});
