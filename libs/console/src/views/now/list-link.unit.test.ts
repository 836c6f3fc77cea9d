import { expect, it } from '@jest/globals';
import { viewOf } from './list-link.ts';

it('a number leads to the view that lists what it counts, with the same filters', () => {
  expect(viewOf('/v1/sessions?status=waiting&waiting_for=person')).toBe(
    '/sessions?status=waiting&waiting_for=person',
  );
  expect(viewOf('/v1/deliveries?status=dead&since=1h')).toBe('/deliveries?status=dead&since=1h');
  expect(viewOf('/v1/dead-letters')).toBe('/deliveries?tab=dead-letters');
  expect(viewOf('/v1/something-new?x=1')).toBe('/');
});
