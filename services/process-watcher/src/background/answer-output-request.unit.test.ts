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

it('the largest part that can be asked for is one message of NATS, whatever was printed', async () => {
  expect(Buffer.byteLength((await ask({})) ?? '')).toBeLessThan(1_000_000);
  expect(JSON.parse((await ask({ offset: 0 })) ?? '')).toMatchObject({ next_offset: 131_072, at_end: false });
});

it('who asks for what was not printed yet is told where to go on', async () => {
  expect(JSON.parse((await ask({ offset: 999_999 })) ?? '')).toMatchObject({
    output: '',
    offset: 200_000,
    next_offset: 200_000,
  });
});

it.each([{ session_id: '../../etc' }, { process_id: '..' }, { process_id: 'proc_0123456789abcdeg' }])(
  'what would lead out of the directory is not answered: %j',
  async (over) => {
    expect(await ask(over)).toBeNull();
  },
);
