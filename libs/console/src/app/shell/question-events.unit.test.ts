import { expect, it } from '@jest/globals';
import { changesQuestions } from './question-events.ts';

it('a question that is asked or answered changes how many are open', () => {
  expect(changesQuestions('clarification.requested', 0)).toBe(true);
  expect(changesQuestions('clarification.answered', 1)).toBe(true);
});

it('a session that ends does so only if a question is open: a busy gateway is not asked for each end', () => {
  for (const type of ['session.ended', 'run.cancelled']) {
    expect(changesQuestions(type, 1)).toBe(true);
    expect(changesQuestions(type, undefined)).toBe(true);
    expect(changesQuestions(type, 0)).toBe(false);
  }
  expect(changesQuestions('delivery.succeeded', 1)).toBe(false);
});
