import { expect, it } from '@jest/globals';
import { acceptableArguments } from './acceptable-history.ts';
import { nestsTooDeep } from './nesting.ts';

const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;

it('arguments with as many levels as any tool has are arguments, and no more', () => {
  expect(nestsTooDeep(JSON.parse(nested(50)))).toBe(false);
  expect(nestsTooDeep(JSON.parse(nested(100_000)))).toBe(true);
  expect(nestsTooDeep('text')).toBe(false);
});

it('a transcript with arguments that nest deeper than the stack goes can be sent to a model', () => {
  const text = nested(100_000);
  expect(JSON.stringify(acceptableArguments(text))).toBe(JSON.stringify({ invalid_arguments: text }));
  expect(acceptableArguments(nested(50))).toEqual(JSON.parse(nested(50)));
});
