import { expect, it } from '@jest/globals';
import { changesOpen } from './request-events.ts';

it.each([
  ['questions', 'clarification.requested', 'clarification.answered', 'approval.requested'],
  ['approvals', 'approval.requested', 'approval.decided', 'clarification.requested'],
] as const)('%s that are asked or answered change how many are open', (what, asked, answered, other) => {
  expect(changesOpen(what, asked, 0)).toBe(true);
  expect(changesOpen(what, answered, 1)).toBe(true);
  expect(changesOpen(what, other, 1)).toBe(false);
});

it('a session that ends does so only if something is open: a busy gateway is not asked for each end', () => {
  for (const type of ['session.ended', 'run.cancelled']) {
    expect(changesOpen('approvals', type, 1)).toBe(true);
    expect(changesOpen('questions', type, undefined)).toBe(true);
    expect(changesOpen('questions', type, 0)).toBe(false);
  }
  expect(changesOpen('questions', 'delivery.succeeded', 1)).toBe(false);
});
