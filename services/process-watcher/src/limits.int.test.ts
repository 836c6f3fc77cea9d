import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type WatcherFixture, watcherFixture } from './testing/watcher-fixture.ts';
import type { Watcher } from './watcher.ts';

let fixture: WatcherFixture;
let watcher: Watcher;

beforeAll(async () => {
  fixture = await watcherFixture({
    processWatcher: {
      max_processes: 3,
      max_lifetime_seconds: 1,
      max_idle_seconds: 0.5,
      cpu_seconds: 1,
      memory_bytes: 1_073_741_824,
      file_bytes: 1_048_576,
      max_user_processes: 30,
      environment: { FROM_THE_OPERATOR: 'yes' },
    },
  });
  watcher = await fixture.watcher();
});
afterAll(() => fixture.stop());

const run = async (command: string, more: Record<string, unknown> = {}) =>
  fixture.run(watcher, await fixture.running(), 'terminal', { command, ...more });

describe('limits', () => {
  it('end a process that lives too long, and say so in its notice', async () => {
    const id = await fixture.running();
    await fixture.run(watcher, id, 'terminal', {
      command: 'while :; do echo alive; sleep 0.1; done',
      background: true,
      notify_on_complete: true,
    });
    expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({
      signal: 'SIGTERM',
      reason: 'it ran longer than 1 s, which is the limit',
    });
    expect((await fixture.of(id, 'turn.requested')).at(-1)?.input).toMatch(
      /exited with signal SIGTERM\]\nIt was ended: it ran longer than 1 s/,
    );
  });

  it('end a process that prints nothing for too long', async () => {
    const id = await fixture.running();
    await fixture.run(watcher, id, 'terminal', { command: 'echo one; sleep 300', background: true });
    expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({
      signal: 'SIGTERM',
      reason: expect.stringContaining('printed nothing'),
      output_tail: 'one',
    });
  });

  it('of all commands together refuse one more with a clear error', async () => {
    const ids = await Promise.all(Array.from({ length: 3 }, () => fixture.running()));
    for (const id of ids) {
      const command = 'while :; do echo x; sleep 0.1; done';
      await fixture.run(watcher, id, 'terminal', { command, background: true });
    }
    expect(await run('echo no')).toMatchObject({ outcome: 'error', error: expect.stringContaining('limit') });
    await Promise.all(ids.map((id) => fixture.waitFor(id, 'process.exited')));
    expect(await run('echo yes')).toMatchObject({ output: 'yes\n' });
  });

  it('of CPU time, memory, file size and processes are the kernel’s', async () => {
    expect(await run('while :; do :; done', { timeout_seconds: 20 })).toMatchObject({ signal: 'SIGKILL' });
    expect(await run('head -c 5000000 /dev/zero > big; wc -c < big')).toMatchObject({
      output: expect.stringMatching(/1048576\n$/),
    });
    expect(await run('ulimit -v')).toMatchObject({ output: '1048576\n' });
    if (process.getuid?.() === 0) {
      expect(await run('for n in $(seq 60); do sleep 1 & done; wait', { timeout_seconds: 20 })).toMatchObject(
        {
          output: expect.stringMatching(/fork: .*(unavailable|retry)/i),
        },
      );
    }
  });

  it('leave the operator’s variables', async () => {
    expect(await run('echo $FROM_THE_OPERATOR')).toMatchObject({ output: 'yes\n' });
  });
});
