import { describe, expect, it } from '@jest/globals';
import { fenceInstructions, programPrompt } from './agent-prompt.ts';
import { fencedBlock, fenceNote } from './untrusted-text.ts';

const foreign = fencedBlock('a\nb', '0123456789ab');

describe('the prompt of a program', () => {
  it('is the unchanged input', () => {
    expect(programPrompt([{ role: 'user', content: 'do it' }], [])).toBe('do it');
  });

  it('explains the fences above the input', () => {
    const said = [{ role: 'user' as const, content: `Review ${foreign}` }];
    expect(programPrompt(said, ['Be brief.'])).toBe(`Be brief.\n\n${fenceNote(null)}\n\nReview ${foreign}`);
    expect(fenceInstructions(said)).toEqual([fenceNote(null)]);
    expect(fenceInstructions([{ role: 'user', content: 'do it' }])).toEqual([]);
  });
});
