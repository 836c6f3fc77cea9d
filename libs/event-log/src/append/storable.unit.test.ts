import { expect, it } from '@jest/globals';
import { toStorable, toStorableJson } from './storable.ts';

it.each([
  ['a whole pair', '😀'],
  ['a backslash before u0000', '\\u0000'],
  ['an escaped backslash at the end', 'x\\'],
  ['other control characters', '\u0001\u001f'],
])('%s can be stored', (_, text) => {
  expect(JSON.parse(toStorableJson({ text }, 'data'))).toEqual({ text });
  expect(toStorable({ text })).toEqual({ text });
});

it.each([
  ['U+0000', 'a\u0000'],
  ['U+0000 behind backslashes', '\\\\\u0000'],
  ['a lone high surrogate', '\ud83d'],
  ['a lone low surrogate', 'x\ude00y'],
])('%s cannot, until toStorable() has put U+FFFD there', (_, text) => {
  expect(() => toStorableJson({ [text]: 1 }, 'data of x')).toThrow('data of x');
  const mended = toStorable({ list: [{ [text]: text }] });
  expect(() => toStorableJson(mended, 'data')).not.toThrow();
  expect(JSON.stringify(mended)).toContain('\ufffd');
});

it('a value that is not JSON is refused', () => {
  expect(() => toStorableJson(undefined, 'data of x')).toThrow('not a JSON value');
});
