import { knownTargets } from '@angelia/config';
import { expect, it } from '@jest/globals';
import { describeTarget } from './testing/contract.ts';
import { harnesses } from './testing/harnesses.ts';

it('the contract runs on every target', () => {
  expect(Object.keys(harnesses).sort()).toEqual([...knownTargets].sort());
});

for (const [name, start] of Object.entries(harnesses)) describeTarget(name, start);
