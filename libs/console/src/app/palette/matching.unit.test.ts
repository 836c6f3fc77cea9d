import { expect, it } from '@jest/globals';
import { matching } from './matching.ts';

const commands = ['Go to Sessions', 'Go to Processes', 'Theme: dark', 'Obsession'].map((name) => ({ name }));
const found = (typed: string) => matching(commands, typed).map(({ name }) => name);

it('a command is found by its words in any order, the beginning of a word first', () => {
  expect(found('sess go')).toEqual(['Go to Sessions']);
  expect(found('sess')).toEqual(['Go to Sessions', 'Obsession']);
  expect(found('DARK')).toEqual(['Theme: dark']);
  expect(found('')).toHaveLength(4);
  expect(found('nothing')).toEqual([]);
});
