import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import { continuation } from '@angelia/session';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import type { Watcher } from '../watcher/watcher.ts';

let fixture: WatcherFixture;
let watcher: Watcher;

beforeAll(async () => {
  fixture = await watcherFixture({
    agents: {
      notes: {
        kind: 'command',
        command: ['/bin/sh', '-c', 'cat >> notes; pwd; id -u; echo "$ANGELIA_CONVERSATION_ID"; cat notes'],
        send_history: false,
      },
    },
  });
  watcher = await fixture.watcher();
});
afterAll(() => fixture.stop());

const asRoot = process.getuid?.() === 0 ? it : it.skip;
const filesOf = (id: SessionId) => join(fixture.dataDirectory, 'processes', id);
const later = () => Date.now() + (fixture.config.process_watcher.keep_hours + 1) * 3_600_000;
const run = (id: SessionId, command: string, more: Record<string, unknown> = {}) =>
  fixture.run(watcher, id, 'terminal', { command, ...more });
const isThere = (pid: number): boolean =>
  existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

/** What ingress appends when something comes for a session that has ended. */
async function continued(id: SessionId, input = 'more'): Promise<SessionId> {
  await fixture.answer(id);
  return fixture.running({ ...continuation(await fixture.sessions.load(id)), input });
}

describe('a continuation', () => {
  it('of a command agent keeps the directory, the user and the id of the conversation', async () => {
    const answers: string[][] = [];
    let id = await fixture.running({ agent: 'notes', toolsets: null, input: 'one\n' });
    const first = id;
    for (const input of ['two\n', 'three\n', null]) {
      await fixture.execute(id, { type: 'start-agent', generation: 1, kind: 'command', arguments: '{}' });
      await watcher.checkSession(id);
      answers.push(String((await fixture.result(id, 'agent-1')).text).split('\n'));
      if (input !== null) id = await continued(id, input);
    }
    const [directory, user] = answers[0] ?? [];
    expect(directory).toBe(join(filesOf(first), 'work'));
    expect(answers).toEqual([
      [directory, user, first, 'one'],
      [directory, user, first, 'one', 'two'],
      [directory, user, first, 'one', 'two', 'three'],
    ]);
  });

  it('of a session with a terminal keeps them, too, after a restart of the watcher', async () => {
    const first = await fixture.running();
    const before = await run(first, 'pwd; id -u; echo kept > file');
    const second = await continued(first);
    const own = await fixture.watcher();
    const after = await fixture.run(own, second, 'terminal', { command: 'pwd; id -u; cat file' });
    expect(after.output).toBe(`${before.output}kept\n`);
    await fixture.crash(own);
  });

  it('goes to the watcher that has the files, while that one is alive', async () => {
    const first = await fixture.running();
    await run(first, 'echo kept > file');
    const second = await continued(first);
    const other = await fixture.watcher('other', join(fixture.dataDirectory, 'other'));
    const call = await fixture.call(second, 'terminal', { command: 'cat file' });
    // It tells the others, and the one that has the files takes it.
    await other.checkSession(second);
    expect(await fixture.result(second, call)).toMatchObject({ output: 'kept\n' });
    await fixture.crash(other);
  });

  it('does not end the background processes of the session that it continues', async () => {
    const first = await fixture.running();
    await fixture.begin(watcher, first, 'exec sleep 300');
    const { pid } = await fixture.waitFor(first, 'process.started');
    const second = await continued(first);
    await run(second, 'true');
    await watcher.cleanup.endStrays();
    expect(isThere(pid)).toBe(true);
    await watcher.commands.stop(first, String((await fixture.of(first, 'process.started'))[0]?.process_id));
    await eventually(() => !isThere(pid));
  });

  it('keeps the files of its conversation from being removed, and no longer', async () => {
    const first = await fixture.running();
    await run(first, 'echo kept > file');
    const second = await continued(first);
    await run(second, 'true');
    await watcher.cleanup.removeOldFiles(later());
    expect(await run(second, 'cat file')).toMatchObject({ output: 'kept\n' });
    await fixture.answer(second);
    await watcher.cleanup.removeOldFiles(later());
    await watcher.cleanup.removeOldFiles(later());
    expect([existsSync(filesOf(first)), existsSync(filesOf(second))]).toEqual([false, false]);
  });

  asRoot('is not disturbed if the session that it continues is pruned or erased', async () => {
    const first = await fixture.running();
    await run(first, 'echo kept > file');
    const second = await continued(first);
    await fixture.begin(watcher, second, 'exec sleep 300');
    const { pid } = await fixture.waitFor(second, 'process.started');
    await fixture.erase(first);
    await watcher.cleanup.removeErased(first);
    await watcher.cleanup.endStrays();
    expect(isThere(pid)).toBe(true);
    expect(await run(second, 'cat file')).toMatchObject({ output: 'kept\n' });
    // With the last session of the conversation everything goes.
    await fixture.erase(second);
    await watcher.cleanup.removeErased(second);
    await eventually(() => !isThere(pid));
    expect([existsSync(filesOf(first)), existsSync(filesOf(second))]).toEqual([false, false]);
  });
});
