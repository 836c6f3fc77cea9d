import { knownTargets } from '@angelia/config';
import { expect, it } from '@jest/globals';
import { describeTarget } from './testing/contract.ts';
import { harnesses } from './testing/harnesses.ts';

it('is run on every target there is', () => {
  expect(Object.keys(harnesses).sort()).toEqual([...knownTargets].sort());
});

for (const [name, start] of Object.entries(harnesses)) describeTarget(name, start);
