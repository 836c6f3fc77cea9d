import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { initialState } from '@angelia/session';
import { newSessionId, type Sessions } from '@angelia/sessions';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { answerFileRequest } from './answer-file-request.ts';
import { readInDirectory } from './read-in-directory.ts';

const root = mkdtempSync(join(tmpdir(), 'angelia-files-'));
const work = join(root, 'a', 'work');
const other = join(root, 'b', 'work');
const socket = createServer();

beforeAll(async () => {
  for (const dir of [join(work, 'out'), other]) mkdirSync(dir, { recursive: true });
  writeFileSync(join(work, 'report.csv'), 'a,b\n1,2\n');
  writeFileSync(join(work, 'out', 'plot.txt'), 'plot');
  writeFileSync(join(work, 'large.txt'), 'x'.repeat(101));
  writeFileSync(join(other, 'secret.txt'), 'of another session');
  symlinkSync(join(other, 'secret.txt'), join(work, 'link.txt'));
  symlinkSync(other, join(work, 'elsewhere'));
  symlinkSync('out', join(work, 'inside'));
  linkSync(join(other, 'secret.txt'), join(work, 'hard.txt'));
  execFileSync('mkfifo', [join(work, 'fifo.txt')]);
  await new Promise<void>((resolve) => socket.listen(join(work, 'socket.txt'), resolve));
});

afterAll(() => {
  socket.close();
  rmSync(root, { recursive: true });
});

const read = (path: string) => readInDirectory(work, path, { offset: 0, limit: 100, maxBytes: 100 });

it('an ordinary file is read, also below directories', async () => {
  expect(await read('report.csv')).toMatchObject({ kind: 'part', data: Buffer.from('a,b\n1,2\n'), size: 8 });
  expect(await read('out/plot.txt')).toMatchObject({ kind: 'part', data: Buffer.from('plot') });
});

it('a file is read in parts, and its version tells that it was changed in between', async () => {
  writeFileSync(join(work, 'changing.csv'), 'a,b\n1,2\n');
  const part = (offset: number) => readInDirectory(work, 'changing.csv', { offset, limit: 3, maxBytes: 100 });
  const first = await part(0);
  expect(await part(3)).toEqual({ ...first, data: Buffer.from('\n1,') });
  writeFileSync(join(work, 'changing.csv'), 'a,b\n1,3\n');
  // The clock of a file system ticks every 4 to 10 ms. Both writes may fall into one tick.
  utimesSync(join(work, 'changing.csv'), new Date(), new Date(Date.now() + 1_000));
  const changed = await part(6);
  expect(changed.kind === 'part' && first.kind === 'part' && changed.version !== first.version).toBe(true);
});

it.each([
  ['a link to a file', 'link.txt'],
  ['a link to a directory outside', 'elsewhere/secret.txt'],
  ['a link to a directory inside', 'inside/plot.txt'],
  ['a second name of a file outside', 'hard.txt'],
  ['a FIFO', 'fifo.txt'],
  ['a socket', 'socket.txt'],
  ['a directory', 'out'],
  ['a way up', '../../b/work/secret.txt'],
  ['a way up further down', 'out/../report.csv'],
  ['an absolute path', '/etc/hostname'],
  ['an empty step', 'out//plot.txt'],
  ['a NUL', 'report.csv\0.txt'],
])('%s is refused', async (_what, path) => {
  expect(await read(path)).toEqual({
    kind: 'refused',
    why: 'it is not an ordinary file in the directory of the session',
  });
});

it('a file that is missing or too large is refused in words of its own', async () => {
  expect(await read('gone.csv')).toMatchObject({ why: expect.stringContaining('no such file') });
  expect(await read('large.txt')).toMatchObject({ why: 'it has more than 100 bytes' });
});

describe('a request of delivery', () => {
  const id = newSessionId();
  const ask = async (over: Record<string, unknown>, deliverFiles?: object) => {
    const state = { ...initialState(), created: { deliverFiles } };
    const answer = await answerFileRequest(
      JSON.stringify({ session_id: id, watcher: 'w', path: 'report.csv', offset: 0, limit: 100, ...over }),
      {
        instance: 'w',
        sessions: { load: async () => ({ state }) } as unknown as Sessions,
        directories: { workDirectory: (session) => (session === id ? work : other) },
      },
    );
    return answer === null ? null : JSON.parse(answer);
  };
  const bounds = { max_bytes: 100, types: ['text/csv'] };

  it('gets the bytes of a session that delivers files, within its bound', async () => {
    expect(Buffer.from((await ask({}, bounds)).data, 'base64').toString()).toMatch(/^a,b\n/);
    expect(await ask({ path: 'large.txt' }, bounds)).toMatchObject({ why: 'it has more than 100 bytes' });
  });

  it('gets nothing of a session that does not', async () => {
    expect(await ask({})).toEqual({ kind: 'refused', why: 'the session does not deliver files' });
  });

  it('gets nothing of another session, and no answer from another watcher', async () => {
    expect(await ask({ session_id: newSessionId() }, bounds)).toMatchObject({ kind: 'refused' });
    expect(await ask({ watcher: 'x' }, bounds)).toBeNull();
    expect(await ask({ session_id: '../../etc' }, bounds)).toBeNull();
  });
});
