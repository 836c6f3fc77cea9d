import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { answerOutputRequest } from './answer-output-request.ts';

const dir = mkdtempSync(join(tmpdir(), 'angelia-output-'));
const ask = (over: Record<string, unknown>) =>
  answerOutputRequest(
    JSON.stringify({
      session_id: '01a1e341-f0c2-7617-9337-e8fd6c4efb96',
      process_id: 'proc_0123456789abcdef',
      offset: null,
      limit: 131_072,
      ...over,
    }),
    { directory: () => dir },
  );

beforeAll(() => writeFileSync(join(dir, 'output.0'), Buffer.alloc(200_000, 0x1b)));
afterAll(() => rmSync(dir, { recursive: true }));

it('the largest possible answer fits into one NATS message, whatever was printed', async () => {
  expect(Buffer.byteLength((await ask({})) ?? '')).toBeLessThan(1_000_000);
  expect(JSON.parse((await ask({ offset: 0 })) ?? '')).toMatchObject({ next_offset: 131_072, at_end: false });
});

it('a request beyond the end is told where to continue', async () => {
  expect(JSON.parse((await ask({ offset: 999_999 })) ?? '')).toMatchObject({
    output: '',
    offset: 200_000,
    next_offset: 200_000,
  });
});

it.each([{ session_id: '../../etc' }, { process_id: '..' }, { process_id: 'proc_0123456789abcdeg' }])(
  'a request that would leave the directory gets no answer: %j',
  async (over) => {
    expect(await ask(over)).toBeNull();
  },
);
