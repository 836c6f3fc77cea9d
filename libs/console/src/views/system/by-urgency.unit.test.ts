import { expect, it } from '@jest/globals';
import { byUrgency } from './by-urgency.ts';

it('faults come first, and equal findings keep their order', () => {
  const findings = (['ok', 'skipped', 'warning', 'ok', 'fault'] as const).map((state, n) => ({ state, n }));
  expect(byUrgency(findings).map(({ n }) => n)).toEqual([4, 2, 0, 3, 1]);
});
