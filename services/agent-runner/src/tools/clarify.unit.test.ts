import { expect, it } from '@jest/globals';
import { clarifyTool } from './clarify.ts';

const long = (length: number): string => 'x'.repeat(length);

it.each([
  [{ question: 'Which?' }],
  [{ question: 'Which?', choices: null }],
  [{ question: 'Which?', choices: [] }],
  [{ question: long(4_000), choices: ['Red', 'Blue'] }],
])('a valid question is accepted', (args) => {
  expect(clarifyTool.check(args)).toBeNull();
});

it.each([
  ['nothing', {}, '`question`'],
  ['no text', { question: 7 }, '`question`'],
  ['an empty text', { question: ' ' }, '`question`'],
  ['a text that is too long', { question: long(4_001) }, '`question`'],
  ['choices that are no list', { question: 'Which?', choices: 'Red' }, '`choices`'],
  ['an empty choice', { question: 'Which?', choices: ['Red', ' '] }, '`choices`'],
  ['a choice that is too long', { question: 'Which?', choices: [long(201)] }, '`choices`'],
  ['the same choice twice', { question: 'Which?', choices: ['Red', 'Red '] }, 'the same'],
  ['too many choices', { question: 'Which?', choices: [...long(13)].map((x, i) => x + i) }, '`choices`'],
  ['an argument that is none', { question: 'Which?', options: ['Red'] }, '`options`'],
  ['a list', [], 'object'],
  ['null', null, 'object'],
])('a question with %s is refused by name', (_what, args, told) => {
  expect(clarifyTool.check(args)).toContain(told);
});
