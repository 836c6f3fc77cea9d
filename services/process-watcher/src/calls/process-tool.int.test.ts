import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { membersOf } from '../supervisor/process-identity.ts';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import type { Watcher } from '../watcher/watcher.ts';

let fixture: WatcherFixture;
let watcher: Watcher;

beforeAll(async () => {
  fixture = await watcherFixture({ processWatcher: { output_bytes: 262_144 } });
  watcher = await fixture.watcher();
});
afterAll(() => fixture.stop());

const begin = (id: SessionId, command: string, more: Record<string, unknown> = {}, by = watcher) =>
  fixture.begin(by, id, command, more);
const act = (id: SessionId, action: string, more: Record<string, unknown> = {}, by = watcher) =>
  fixture.run(by, id, 'process', { action, ...more });
const notices = (id: SessionId) => fixture.notices(id);
/** Writes the line that a command waits for. */
const tell = (id: SessionId, processId: string) => watcher.commands.write(id, processId, '\n', false);

describe('the process tool', () => {
  it.each(['before the call is taken', 'while it waits'])(
    'waits for the end, which then makes no notice: it comes %s',
    async (when) => {
      const id = await fixture.running();
      const processId = await begin(id, 'read line; echo ready; exit 5', { notify_on_complete: true });
      const callId = await fixture.call(id, 'process', { action: 'wait', process_id: processId });
      if (when === 'while it waits') await watcher.checkSession(id);
      await tell(id, processId);
      await fixture.waitFor(id, 'process.exited');
      if (when !== 'while it waits') await watcher.checkSession(id);
      expect(await fixture.result(id, callId)).toEqual({
        outcome: 'ok',
        process_id: processId,
        state: 'exited',
        exit_code: 5,
        output: 'ready\n',
      });
      expect(await fixture.of(id, 'process.completion-consumed')).toEqual([
        { process_id: processId, by: 'wait' },
      ]);
      // The log never had one, not even one that was withdrawn.
      expect(await notices(id)).toEqual([]);
    },
  );

  it('stops waiting after the timeout; the process keeps running and is reported when it ends', async () => {
    const id = await fixture.running();
    const processId = await begin(id, 'read line; exit 5', { notify_on_complete: true });
    expect(await act(id, 'wait', { process_id: processId, timeout_seconds: 0.1 })).toMatchObject({
      state: 'running',
    });
    await tell(id, processId);
    await fixture.waitFor(id, 'process.exited');
    expect(await notices(id)).toHaveLength(1);
  });

  it('does not consume an end that comes when nobody waits any more', async () => {
    const id = await fixture.running();
    const processId = await begin(id, 'read line; exit 3', { notify_on_complete: true });
    const callId = await fixture.call(id, 'process', { action: 'wait', process_id: processId });
    await watcher.checkSession(id);
    // The run gave up the call (interrupted, out of time); the watcher notices that once a second.
    await fixture.execute(id, {
      type: 'finish-tool',
      generation: 1,
      callId,
      outcome: 'unknown',
      result: 'unknown',
    });
    await tell(id, processId);
    await fixture.waitFor(id, 'process.exited');
    expect(await notices(id)).toEqual([expect.stringContaining('exit code 3')]);
  });

  it('kills the whole group of a process that ignores TERM, and that makes no notice', async () => {
    const id = await fixture.running();
    const impatient = await fixture.watcher('impatient', undefined, undefined, { graceMs: 100 });
    const processId = await begin(
      id,
      'trap "" TERM; sleep 300 & touch up; sleep 300; sleep 300',
      { notify_on_complete: true },
      impatient,
    );
    await eventually(() => existsSync(join(fixture.dataDirectory, 'processes', id, 'work', 'up')));
    const { pid } = await fixture.waitFor(id, 'process.started');
    expect(await act(id, 'kill', { process_id: processId }, impatient)).toMatchObject({
      state: 'exited',
      signal: 'SIGKILL',
    });
    expect(membersOf(pid)).toEqual([]);
    await fixture.waitFor(id, 'process.exited');
    expect(await notices(id)).toEqual([]);
    await fixture.crash(impatient);
  });

  it.each(['kill', 'log', 'wait'])(
    '%s of a process that has already exited withdraws its notice',
    async (action) => {
      const id = await fixture.running();
      const processId = await begin(id, 'echo over', { notify_on_complete: true });
      await fixture.waitFor(id, 'process.exited');
      expect((await fixture.sessions.load(id)).state.turns).toHaveLength(2);
      expect(await act(id, action, { process_id: processId })).toMatchObject({
        state: 'exited',
        exit_code: 0,
        output: 'over\n',
      });
      expect((await fixture.sessions.load(id)).state.turns).toHaveLength(1);
    },
  );

  it('pages through the log', async () => {
    const id = await fixture.running();
    const processId = await begin(id, 'seq 1 20000', { notify_on_complete: true });
    await fixture.waitFor(id, 'process.exited');
    expect((await act(id, 'log', { process_id: processId, lines: 2 })).output).toBe('19999\n20000\n');
    let text = '';
    for (let offset = 0, end = false; !end; ) {
      const page = await act(id, 'log', { process_id: processId, offset });
      text += page.output;
      offset = Number(page.next_offset);
      end = page.at_end === true;
    }
    expect(text).toBe(`${Array.from({ length: 20_000 }, (_, n) => n + 1).join('\n')}\n`);
  });

  it('writes to standard input, and only knows the processes of its own session', async () => {
    const id = await fixture.running();
    const processId = await begin(id, 'read name; echo "hello $name"; cat; exit 2');
    await act(id, 'write', { process_id: processId, data: 'you\n' });
    await act(id, 'write', { process_id: processId, data: 'more', close: true });
    expect(await act(id, 'wait', { process_id: processId })).toMatchObject({
      exit_code: 2,
      output: 'hello you\nmore',
    });
    expect(await act(id, 'write', { process_id: processId, data: 'late' })).toMatchObject({
      outcome: 'error',
    });
    expect(await act(id, 'list')).toMatchObject({ processes: [{ process_id: processId, state: 'exited' }] });
    const other = await fixture.running();
    expect(await act(other, 'list')).toMatchObject({ processes: [] });
    expect(await act(other, 'kill', { process_id: processId })).toMatchObject({ outcome: 'error' });
  });
});
