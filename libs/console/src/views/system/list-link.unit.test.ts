import { expect, it } from '@jest/globals';
import { listLink } from './list-link.ts';

it('a list of the API has its page', () => {
  expect(listLink('/v1/deliveries?status=pending&target=a%20b')).toEqual({
    to: '/deliveries',
    search: { status: 'pending', target: 'a b' },
  });
  expect(listLink('/v1/sessions')).toEqual({ to: '/sessions', search: {} });
});

it('a call without a page has no link', () => {
  expect(listLink('/v1/jobs?id=1')).toBeNull();
  expect(listLink('javascript:alert(1)')).toBeNull();
});
