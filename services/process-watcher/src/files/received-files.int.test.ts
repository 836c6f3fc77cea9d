import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import { type CreateSession, continuation } from '@angelia/session';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import type { Watcher } from '../watcher/watcher.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const received = (name: string, text: string) => ({
  path: `received/${name}`,
  mime_type: 'application/pdf',
  data: base64(text),
});
const REPORT = received('0a1b2c3d-report.pdf', '%PDF-1.7 the report');
const PNG = 'iVBORw0KGgo=';

let fixture: WatcherFixture;
let watcher: Watcher;

beforeAll(async () => {
  fixture = await watcherFixture({
    agents: { program: { kind: 'command', command: ['/bin/sh', '-c', 'cat received/*'] } },
  });
  watcher = await fixture.watcher();
});
afterAll(() => fixture.stop());

const withFiles = (over: Partial<CreateSession> = {}) => fixture.running({ files: [REPORT], ...over });
const run = (id: SessionId, command: string) => fixture.run(watcher, id, 'terminal', { command });
const directoryOf = (id: SessionId) => join(fixture.dataDirectory, 'processes', id);

describe('a file of a message', () => {
  it('is in the directory of the session before its first command, as a file of its user', async () => {
    const image = { path: 'received/0a1b2c3d-a.png', mime_type: 'image/png', image: 1 };
    const id = await withFiles({
      files: [REPORT, image],
      images: [{ mime_type: 'image/png', data: PNG }],
    });
    const { output } = await run(
      id,
      'cat received/*.pdf; echo; base64 < received/*.png; ls -A received; id -u; stat -c %u received received/*',
    );
    const [text, png, first, second, user, ...owners] = String(output).trim().split('\n');
    expect([text, png, first, second]).toEqual([
      '%PDF-1.7 the report',
      PNG,
      '0a1b2c3d-a.png',
      '0a1b2c3d-report.pdf',
    ]);
    expect(owners).toEqual([user, user, user]);
  });

  it('is put there once: what a command made of it stays, also after a restart of the watcher', async () => {
    const id = await withFiles({ files: [REPORT, received('0a1b2c3d-other.pdf', '%PDF- other')] });
    await run(id, 'echo mine > received/0a1b2c3d-report.pdf; rm received/0a1b2c3d-other.pdf');
    const next = await fixture.watcher();
    const after = await fixture.run(next, id, 'terminal', { command: 'cat received/*' });
    expect(after.output).toBe('mine\n');
    await fixture.crash(next);
  });

  it('is whole after a kill in the middle of writing it, and a kill before it was noted replaces nothing', async () => {
    const id = await fixture.running();
    await run(id, 'mkdir received; echo half > received/.0a1b2c3d-report.pdf.part');
    await fixture.execute(id, {
      type: 'request-turn',
      source: 'message',
      input: 'a file',
      deliveryId: null,
      files: [REPORT],
    });
    expect((await run(id, 'cat received/*; ls -A received')).output).toBe(
      '%PDF-1.7 the report0a1b2c3d-report.pdf\n',
    );
    writeFileSync(join(directoryOf(id), 'work', REPORT.path), 'mine\n');
    rmSync(join(directoryOf(id), 'received'));
    expect((await run(id, 'cat received/*')).output).toBe('mine\n');
  });

  it('that came while the session was open is there for the next command, and those of a continuation too', async () => {
    const first = await withFiles();
    await run(first, 'true');
    await fixture.answer(first);
    const later = received('ffffffff-later.pdf', '%PDF- later');
    const second = await fixture.running({
      ...continuation(await fixture.sessions.load(first)),
      input: 'more',
      files: [later],
    });
    expect((await run(second, 'cat received/*')).output).toBe('%PDF-1.7 the report%PDF- later');
    // Erasing the continuation leaves the directory of the conversation, without the file.
    await fixture.answer(second);
    await fixture.erase(second);
    await watcher.cleanup.removeErased(second);
    expect(() => readFileSync(join(directoryOf(first), 'work', later.path))).toThrow('ENOENT');
    expect(readFileSync(join(directoryOf(first), 'work', REPORT.path), 'utf8')).toContain('the report');
  });

  it.each(['link to a directory outside', 'file'])(
    'does not go through a %s in place of the directory: the command runs, and says so',
    async (kind) => {
      const outside = join(fixture.dataDirectory, `outside-${kind.length}`);
      mkdirSync(outside);
      const id = await fixture.running();
      await run(id, 'true');
      const path = join(directoryOf(id), 'work', 'received');
      if (kind === 'file') writeFileSync(path, '');
      else symlinkSync(outside, path);
      await fixture.execute(id, {
        type: 'request-turn',
        source: 'message',
        input: 'a file',
        deliveryId: null,
        files: [REPORT],
      });
      const result = await run(id, 'echo ran');
      expect(readdirSync(outside)).toEqual([]);
      expect(result).toMatchObject({
        output: 'ran\n',
        missing_files: expect.stringContaining('received is not a directory'),
      });
      // Once it is out of the way, the file comes.
      await run(id, 'rm received');
      const after = await run(id, 'cat received/*');
      expect(after).toMatchObject({ output: '%PDF-1.7 the report' });
      expect(after).not.toHaveProperty('missing_files');
    },
  );

  it('is there for a program that is the agent, and goes with the session', async () => {
    const id = await withFiles({ agent: 'program', toolsets: null });
    await fixture.execute(id, { type: 'start-agent', generation: 1, kind: 'command', arguments: '{}' });
    await watcher.checkSession(id);
    expect(await fixture.result(id, 'agent-1')).toMatchObject({ text: '%PDF-1.7 the report' });
    await fixture.erase(id);
    await watcher.cleanup.removeErased(id);
    expect(() => readFileSync(join(directoryOf(id), 'received'))).toThrow('ENOENT');
    expect(() => readFileSync(join(directoryOf(id), 'work', REPORT.path))).toThrow('ENOENT');
  });
});
