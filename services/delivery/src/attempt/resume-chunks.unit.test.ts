import type { RecordedEvent } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { resumeChunks } from './resume-chunks.ts';

const chunks = (count: number) => Array.from({ length: count }, (_, index) => ({ text: `chunk ${index}` }));
const taken = (output: number, chunk: number, chunks: number) =>
  ({ type: 'delivery.chunk-taken', data: { output, chunk, chunks } }) as unknown as RecordedEvent;

describe('the chunks of an output', () => {
  it('are all sent if none was taken, and continue if their number is the same as before', () => {
    expect(resumeChunks({ events: [taken(4, 2, 7)] }, { output: 9, taken: 0 }, chunks(3))).toEqual(chunks(3));
    const events = [taken(4, 1, 7), taken(9, 1, 3), taken(9, 2, 3)];
    expect(resumeChunks({ events }, { output: 9, taken: 2 }, chunks(3))).toEqual(chunks(3));
  });

  it.each([
    ['fewer', 400, 2, 50],
    ['fewer than were taken', 400, 60, 50],
    ['more', 3, 2, 4],
  ])('are %s in this version: one last message says so, on a retry too', (_, before, chunk, now) => {
    const plan = { output: 9, taken: chunk };
    const resumed = resumeChunks({ events: [taken(9, chunk, before)] }, plan, chunks(now));
    expect(resumed).toHaveLength(chunk + 1);
    expect(resumed.at(-1)?.text).toMatch(/^\.\.\. cut here/);
    expect(resumeChunks({ events: [taken(9, chunk, before)] }, plan, chunks(now))).toEqual(resumed);
  });
});
