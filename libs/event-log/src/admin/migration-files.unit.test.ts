import { expect, it } from '@jest/globals';
import { NEEDED_MIGRATION } from '../connection/check-cluster.ts';
import { readMigrations } from './migration-files.ts';

it('migrations are numbered without gaps, and the program needs the last one', async () => {
  const numbers = (await readMigrations()).map((migration) => migration.number);
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  expect(NEEDED_MIGRATION).toBe(numbers.at(-1));
});
