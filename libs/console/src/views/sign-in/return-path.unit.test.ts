import { expect, it } from '@jest/globals';
import { returnPath } from './return-path.ts';

it('after the sign-in a person comes back to a page of the console', () => {
  expect(returnPath('/sessions?outcome=failed')).toBe('/sessions?outcome=failed');
  expect(returnPath('/console/sessions')).toBe('/sessions');
});

it.each([
  undefined,
  '',
  'https://example.com',
  '//example.com',
  '/\\example.com',
  'javascript:x',
  '/sign-in',
])('and never to %s', (next) => {
  expect(returnPath(next)).toBe('/');
});
