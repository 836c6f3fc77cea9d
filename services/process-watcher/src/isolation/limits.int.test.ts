import type { SessionId } from '@angelia/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import type { Watcher } from '../watcher/watcher.ts';

let fixture: WatcherFixture;
let watcher: Watcher;
/** Lets commands live for a short time only. */
let strict: Watcher;

beforeAll(async () => {
  fixture = await watcherFixture({
    processWatcher: {
      max_processes: 3,
      cpu_seconds: 1,
      memory_bytes: 1_073_741_824,
      file_bytes: 1_048_576,
      max_user_processes: 30,
      environment: { FROM_THE_OPERATOR: 'yes' },
    },
  });
  watcher = await fixture.watcher();
  // Long enough for a command to begin, even on a busy machine.
  const limits = { max_lifetime_seconds: 3, max_idle_seconds: 1.5 };
  strict = await fixture.watcher('strict', undefined, undefined, { limits });
});
afterAll(() => fixture.stop());

const run = async (command: string, more: Record<string, unknown> = {}) =>
  fixture.run(watcher, await fixture.running(), 'terminal', { command, ...more });

describe('limits', () => {
  it('end a process that lives too long and one that is silent for too long, and say so', async () => {
    const [old, quiet] = [await fixture.running(), await fixture.running()];
    await fixture.run(strict, old, 'terminal', {
      command: 'while :; do echo alive; sleep 0.1; done',
      background: true,
      notify_on_complete: true,
    });
    await fixture.run(strict, quiet, 'terminal', { command: 'echo one; sleep 300', background: true });
    expect(await fixture.waitFor(quiet, 'process.exited')).toMatchObject({
      signal: 'SIGTERM',
      reason: 'it printed nothing for 1.5 s, which is the limit',
      output_tail: 'one',
    });
    expect(await fixture.waitFor(old, 'process.exited')).toMatchObject({
      signal: 'SIGTERM',
      reason: 'it ran longer than 3 s, which is the limit',
    });
    expect((await fixture.of(old, 'turn.requested')).at(-1)?.input).toMatch(
      /exited with signal SIGTERM\]\nIt was ended: it ran longer than 3 s/,
    );
  });

  it('on the number of commands refuse one more with a clear error', async () => {
    const ids = await Promise.all(Array.from({ length: 3 }, () => fixture.running()));
    const running = new Map<SessionId, string>();
    for (const id of ids) {
      const started = await fixture.run(watcher, id, 'terminal', { command: 'read line', background: true });
      running.set(id, String(started.process_id));
    }
    expect(await run('echo no')).toMatchObject({ outcome: 'error', error: expect.stringContaining('limit') });
    for (const [id, processId] of running) await watcher.commands.write(id, processId, '\n', false);
    await Promise.all(ids.map((id) => fixture.waitFor(id, 'process.exited')));
    expect(await run('echo yes')).toMatchObject({ output: 'yes\n' });
  });

  it('on CPU time, memory, file size and processes are enforced by the kernel', async () => {
    expect(await run('while :; do :; done', { timeout_seconds: 50 })).toMatchObject({ signal: 'SIGKILL' });
    expect(await run('head -c 5000000 /dev/zero > big; wc -c < big')).toMatchObject({
      output: expect.stringMatching(/1048576\n$/),
    });
    expect(await run('ulimit -v')).toMatchObject({ output: '1048576\n' });
    if (process.getuid?.() === 0) {
      expect(await run('for n in $(seq 40); do sleep 1 & done; wait', { timeout_seconds: 50 })).toMatchObject(
        {
          output: expect.stringMatching(/fork: .*(unavailable|retry)/i),
        },
      );
    }
  });

  it('keep the operator’s variables', async () => {
    expect(await run('echo $FROM_THE_OPERATOR')).toMatchObject({ output: 'yes\n' });
  });
});
