import { expect, it } from '@jest/globals';
import { prepare, queries } from './query-builder.ts';

it('a prepared query is compiled once and gets the values of each call in the order of its placeholders', () => {
  let compiled = 0;
  const query = prepare('leases_of', (given: { holder: string; limit: number }) => {
    compiled += 1;
    return queries
      .selectFrom('angelia.leases')
      .select('resource')
      .where('pool', '=', 'fixed')
      .where('holder', '=', given.holder)
      .where('resource', '<>', given.holder)
      .limit(given.limit);
  });
  expect(query.text).toBe(
    'select "resource" from "angelia"."leases" where "pool" = $1 and "holder" = $2 and "resource" <> $3 limit $4',
  );
  expect(query.valuesOf({ limit: 5, holder: 'a' })).toEqual(['fixed', 'a', 'a', 5]);
  expect(query.valuesOf({ limit: 6, holder: 'b' })).toEqual(['fixed', 'b', 'b', 6]);
  expect(compiled).toBe(1);
});
