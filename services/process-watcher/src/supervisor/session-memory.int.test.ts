import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import type { Watcher } from '../watcher/watcher.ts';
import { statOf } from './process-identity.ts';
import { processesOf } from './user-processes.ts';

const MB = 1_048_576;
const REASON = "the session's commands used more than 200 MB of memory together, which is the limit";

let fixture: WatcherFixture;
let watcher: Watcher;

beforeAll(async () => {
  fixture = await watcherFixture({
    agents: {
      hungry: { kind: 'command', command: ['/bin/sh', '-c', `${hog('a')} & ${hog('b')} & ${hog('c')}`] },
    },
    processWatcher: { memory_bytes: 150 * MB, session_memory_bytes: 200 * MB },
  });
  watcher = await fixture.watcher();
});
afterAll(() => fixture.stop());

/** Keeps 80 MB, below the limit per process, and makes a file when it has them. */
function hog(name: string): string {
  return `{ head -c ${80 * MB} /dev/zero; touch ${name}; exec sleep 300; } | tail -c ${150 * MB} > /dev/null`;
}

const asRoot = process.getuid?.() === 0 ? it : it.skip;
const work = (id: SessionId) => join(fixture.dataDirectory, 'processes', id, 'work');
const run = (id: SessionId, command: string, more: Record<string, unknown> = {}) =>
  fixture.run(watcher, id, 'terminal', { command, ...more });

/** Starts a background process and waits until it has its memory. */
async function begin(id: SessionId, name: string, command = hog(name)): Promise<string> {
  const { process_id } = await run(id, command, { background: true, notify_on_complete: true });
  await eventually(() => existsSync(join(work(id), name)));
  return String(process_id);
}

asRoot(
  'a session that uses too much memory has all its commands ended, daemons included, and reports the reason once',
  async () => {
    const [other, id] = [await fixture.running(), await fixture.running()];
    const untouched = await begin(other, 'other');
    const first = await begin(id, 'first');
    // Neither in its command's group nor with its mark.
    const second = await begin(id, 'second', `setsid env -i sh -c '${hog('second')}' & wait`);
    const uid = statSync(work(id)).uid;

    expect(await run(id, hog('third'))).toMatchObject({
      outcome: 'ok',
      exit_code: null,
      signal: 'SIGKILL',
      note: `ended, with all other commands of this session: ${REASON}`,
    });

    await eventually(async () => (await fixture.of(id, 'process.exited')).length === 2);
    for (const process_id of [first, second]) {
      expect(await fixture.of(id, 'process.exited')).toContainEqual(
        expect.objectContaining({ process_id, exit_code: null, signal: 'SIGKILL', reason: REASON }),
      );
    }
    // The shell that ends strays runs as this user too, for a moment.
    await eventually(() => processesOf(uid).length === 0);
    const notices = (await fixture.of(id, 'turn.requested')).filter(({ source }) => source === 'process');
    expect(notices.map(({ input }) => input).sort()).toEqual(
      [first, second]
        .map(
          (process_id) =>
            `[Background process ${process_id} exited with signal SIGKILL]\nIt was ended: ${REASON}.`,
        )
        .sort(),
    );
    expect(await fixture.run(watcher, id, 'process', { action: 'poll', process_id: first })).toMatchObject({
      state: 'exited',
      reason: REASON,
    });

    expect(await run(id, 'echo again')).toEqual({ outcome: 'ok', exit_code: 0, output: 'again\n' });
    expect(
      await fixture.run(watcher, other, 'process', { action: 'poll', process_id: untouched }),
    ).toMatchObject({
      state: 'running',
    });
    const { pid } = await fixture.waitFor(other, 'process.started');
    expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).not.toMatch(/\) Z /);
  },
);

asRoot('a program that is the agent reports the memory limit too', async () => {
  const id = await fixture.running({ agent: 'hungry', toolsets: null });
  await fixture.execute(id, { type: 'start-agent', generation: 1, kind: 'command', arguments: '{}' });
  await watcher.checkSession(id);
  expect(await fixture.result(id, 'agent-1')).toEqual({
    outcome: 'error',
    error: `the program was ended, as ${REASON}`,
  });
});

it('if commands run as the service’s own user, everything that they started is ended, however it hides', async () => {
  const same = await fixture.watcher('same', undefined, undefined, { limits: { run_as: 'same' } });
  const id = await fixture.running();
  const daemon = `setsid env -i sh -c 'echo $$ > pid; ${hog('one')}'`;
  const command = `${daemon} & ${hog('two')} & ${hog('three')}`;
  expect(await fixture.run(same, id, 'terminal', { command })).toMatchObject({
    signal: 'SIGKILL',
    note: expect.stringContaining(REASON),
  });
  const pid = Number(readFileSync(join(work(id), 'pid'), 'utf8'));
  expect(pid).toBeGreaterThan(1);
  await eventually(() => ['Z', undefined].includes(statOf(pid)?.state));
});
