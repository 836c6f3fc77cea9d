import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import { newSessionId } from '@angelia/sessions';
import { eventually } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { processesOf } from '../supervisor/user-processes.ts';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import type { Watcher } from '../watcher/watcher.ts';

let fixture: WatcherFixture;
let watcher: Watcher;
const children: ChildProcess[] = [];

beforeAll(async () => {
  fixture = await watcherFixture();
  watcher = await fixture.watcher();
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(() => fixture.stop());

const asRoot = process.getuid?.() === 0 ? it : it.skip;
const run = (id: SessionId, command: string, more: Record<string, unknown> = {}) =>
  fixture.run(watcher, id, 'terminal', { command, ...more });
const isThere = (pid: number): boolean =>
  existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
const directoryOf = (id: SessionId) => join(fixture.dataDirectory, 'processes', id);
const userOf = (id: SessionId) => statSync(join(directoryOf(id), 'work')).uid;
/** Neither in its command's group, nor with its mark, nor its child any more. */
const daemon =
  'setsid env -i sleep 777 >/dev/null 2>&1 </dev/null & p=$!; until [ "$(cat /proc/$p/comm)" = sleep ]; do sleep 0.01; done; echo $p';

/** Null if nothing was printed yet. */
const printed = (output: unknown): number | null => Number(output) || null;

/** Starts a process of the session's user that no command knows of. */
async function escaped(id: SessionId): Promise<number> {
  const uid = userOf(id);
  const child = spawn('sleep', ['777'], { uid, gid: uid, cwd: '/', stdio: 'ignore', env: {} });
  children.push(child);
  await eventually(() => processesOf(uid).length === 1);
  return child.pid ?? 0;
}

describe('a daemon that hides', () => {
  asRoot('is ended with its foreground command, whose result says so', async () => {
    const { output, note } = await run(await fixture.running(), daemon);
    expect(isThere(Number(output))).toBe(false);
    expect(note).toContain('background: true');
  });

  asRoot(
    'is ended even while background processes of the session run, with daemons of their own',
    async () => {
      const id = await fixture.running();
      const theirs = join(directoryOf(id), 'work', 'pids');
      // It is a daemon only when it has left its command's group, which on a busy machine takes a while.
      const marked =
        'setsid sleep 300 >/dev/null 2>&1 </dev/null & p=$!; until [ "$(cat /proc/$p/comm)" = sleep ]; do sleep 0.01; done; echo $p >> pids';
      const written = (count: number) =>
        eventually(() => {
          const lines = existsSync(theirs) ? readFileSync(theirs, 'utf8').trim().split('\n') : [];
          return lines.length === count && lines.map(Number);
        });
      await run(id, `echo $$ >> pids; ${marked}; sleep 300 & echo $! >> pids; wait`, { background: true });
      await written(3);
      const left = await run(id, `${marked}`, { background: true });
      const pids = await written(4);
      await fixture.waitFor(id, 'process.exited');
      const { output, note } = await run(id, daemon);
      expect(isThere(Number(output))).toBe(false);
      expect(note).toContain('background: true');
      expect(pids.map(isThere)).toEqual([true, true, true, true]);
      await fixture.run(watcher, id, 'process', { action: 'kill', process_id: left.process_id });
      expect(pids.map(isThere)).toEqual([true, true, true, false]);
    },
  );

  asRoot('is ended when its background process exits and when it is killed', async () => {
    const id = await fixture.running();
    const exits = await run(id, daemon, { background: true });
    await fixture.run(watcher, id, 'process', { action: 'wait', process_id: exits.process_id });
    const log = await fixture.run(watcher, id, 'process', { action: 'log', process_id: exits.process_id });
    await eventually(() => !isThere(Number(log.output)));
    const { process_id } = await run(id, `${daemon}; sleep 300`, { background: true });
    const pid = await eventually(async () =>
      printed((await fixture.run(watcher, id, 'process', { action: 'log', process_id })).output),
    );
    expect(isThere(pid)).toBe(true);
    await fixture.run(watcher, id, 'process', { action: 'kill', process_id });
    expect(isThere(pid)).toBe(false);
  });

  asRoot('is ended when its session is cancelled', async () => {
    const id = await fixture.running();
    await fixture.call(id, 'terminal', { command: `(${daemon}) > pid; sleep 300` });
    await watcher.checkSession(id);
    const file = join(directoryOf(id), 'work', 'pid');
    const pid = await eventually(() => printed(existsSync(file) && readFileSync(file, 'utf8')));
    expect(isThere(pid)).toBe(true);
    await fixture.execute(id, { type: 'cancel', by: 'test' });
    await eventually(() => watcher.sessionsInFlight === 0);
    expect(isThere(pid)).toBe(false);
  });

  asRoot('is found later, when no command of its session runs any more', async () => {
    const id = await fixture.running();
    await run(id, 'true');
    const pid = await escaped(id);
    const { process_id } = await run(id, 'sleep 300', { background: true });
    await run(id, 'true');
    await watcher.cleanup.endStrays();
    expect(isThere(pid)).toBe(true); // older than everything known: nobody can tell whose it is
    await fixture.run(watcher, id, 'process', { action: 'kill', process_id });
    await watcher.cleanup.endStrays();
    expect(isThere(pid)).toBe(false);
  });

  asRoot('of a running background process is not ended with another command', async () => {
    const id = await fixture.running();
    const { process_id } = await run(id, `${daemon}; sleep 300`, { background: true });
    const pid = await eventually(async () =>
      printed((await fixture.run(watcher, id, 'process', { action: 'log', process_id })).output),
    );
    await run(id, 'true');
    expect(isThere(pid)).toBe(true);
    await watcher.cleanup.endStrays();
    expect(isThere(pid)).toBe(true);
    await fixture.run(watcher, id, 'process', { action: 'kill', process_id });
    expect(isThere(pid)).toBe(false);
  });
});

describe('a session that was erased', () => {
  asRoot('loses its processes, its files and its user', async () => {
    const id = await fixture.running();
    await run(id, 'echo of a person > notes');
    const uid = userOf(id);
    const pid = await escaped(id);
    await watcher.cleanup.removeErased(id);
    expect([isThere(pid), existsSync(directoryOf(id))]).toEqual([true, true]); // the log knows the session: it was not erased
    await fixture.erase(id);
    await watcher.cleanup.removeErased(id);
    expect([isThere(pid), existsSync(directoryOf(id))]).toEqual([false, false]);
    expect(existsSync(`/var/lib/angelia/users/${uid}`)).toBe(false);
  });

  asRoot('loses its processes even if no message says so', async () => {
    const id = await fixture.running();
    await run(id, 'true');
    const pid = await escaped(id);
    await fixture.erase(id);
    await watcher.cleanup.endStrays();
    expect(isThere(pid)).toBe(false);
  });
});

asRoot('a session whose files are removed after `keep_hours` leaves nothing', async () => {
  const id = await fixture.running();
  await run(id, 'true');
  const uid = userOf(id);
  await fixture.answer(id);
  const pid = await escaped(id);
  await watcher.cleanup.removeOldFiles();
  expect(isThere(pid)).toBe(true);
  await watcher.cleanup.removeOldFiles(
    Date.now() + (fixture.config.process_watcher.keep_hours + 1) * 3_600_000,
  );
  expect([isThere(pid), existsSync(directoryOf(id))]).toEqual([false, false]);
  expect(existsSync(`/var/lib/angelia/users/${uid}`)).toBe(false);
});

describe('two sessions', () => {
  asRoot('whose ids have the same hash, and once shared a user, cannot read each other’s files', async () => {
    const [one, two] = pairOfHash();
    await fixture.running({}, one);
    await fixture.running({}, two);
    await run(one, 'echo secret > notes; chmod 600 notes');
    const notes = join(directoryOf(one), 'work', 'notes');
    expect(await run(two, `cat ${notes}; echo changed > ${notes}`)).toMatchObject({
      exit_code: 1,
      // If commands have namespaces, they do not even see each other's directories.
      output: expect.stringMatching(/(denied|No such file)[\s\S]*(denied|No such file)/i),
    });
    expect(readFileSync(notes, 'utf8')).toBe('secret\n');
    expect(userOf(one)).not.toBe(userOf(two));
  });

  asRoot('are refused rather than share one user', async () => {
    // The table of users is the host's: a test run beside this one has another number.
    const only = 2_000_000_000 + process.pid;
    const small = await watcherFixture({
      userPolicy: { kind: 'own', range: { first: only, count: 1 }, separateUsers: true },
    });
    try {
      const own = await small.watcher();
      const ask = async (id: SessionId) => small.run(own, id, 'terminal', { command: 'id -u' });
      const first = await small.running();
      expect(await ask(first)).toMatchObject({ output: `${only}\n` });
      expect(await ask(await small.running())).toMatchObject({
        outcome: 'error',
        error: expect.stringContaining('all 1 user numbers for commands on this host are taken'),
      });
      expect(await ask(first)).toMatchObject({ output: `${only}\n` });
    } finally {
      await small.stop();
    }
  });
});

it('if commands run as the service’s own user, its other processes are not touched', async () => {
  const same = await watcherFixture({ processWatcher: { run_as: 'same' } });
  const own = await same.watcher();
  try {
    const child = spawn('sleep', ['777'], { detached: true, stdio: 'ignore' });
    children.push(child);
    const id = await same.running();
    expect(await same.run(own, id, 'terminal', { command: 'echo done' })).toMatchObject({ output: 'done\n' });
    await own.cleanup.endStrays();
    expect(isThere(child.pid ?? 0)).toBe(true);
  } finally {
    await same.stop();
  }
});

/** Two sessions that had the same user when that was a hash of the id. */
function pairOfHash(): [SessionId, SessionId] {
  const hashOf = (id: SessionId) => createHash('sha256').update(id).digest().readUInt32BE(0) % 50_000;
  for (const seen = new Map<number, SessionId>(); ; ) {
    const id = newSessionId();
    const other = seen.get(hashOf(id));
    if (other !== undefined) return [other, id];
    seen.set(hashOf(id), id);
  }
}
