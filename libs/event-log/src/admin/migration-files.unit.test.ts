import { expect, it } from '@jest/globals';
import { NEEDED_MIGRATION } from '../connection/check-cluster.ts';
import { readMigrations } from './migration-files.ts';

it('each migration has a number of its own, and the program needs the last one', async () => {
  const numbers = (await readMigrations()).map((migration) => migration.number);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  expect(NEEDED_MIGRATION).toBe(numbers.at(-1));
});
