import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { foregroundName } from '../session-directories.ts';
import { EXIT_FILE } from '../supervisor/protocol.ts';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import type { Watcher } from '../watcher/watcher.ts';

let fixture: WatcherFixture;
let watcher: Watcher;

beforeAll(async () => {
  fixture = await watcherFixture({ agent: { processes: { max_per_session: 2 } } });
  watcher = await fixture.watcher();
});
afterAll(() => fixture.stop());

const asRoot = process.getuid?.() === 0 ? it : it.skip;
const run = (id: SessionId, command: string, more: Record<string, unknown> = {}) =>
  fixture.run(watcher, id, 'terminal', { command, ...more });
const isThere = (pid: number): boolean =>
  existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

describe('a command', () => {
  asRoot(
    'cannot use `cwd` to enter a directory that its user may not enter, or to learn that it exists',
    async () => {
      const closed = await mkdtemp(join(tmpdir(), 'angelia-closed-'));
      try {
        const inside = join(closed, 'open');
        await mkdir(inside, { mode: 0o755 });
        await writeFile(join(inside, 'notes'), 'not for models', { mode: 0o644 });
        const id = await fixture.running();
        const [there, absent] = [
          await run(id, 'cat notes; ls', { cwd: inside }),
          await run(id, 'cat notes; ls', { cwd: join(closed, 'shut') }),
        ];
        expect(JSON.stringify(there)).not.toMatch(/not for models|notes/);
        expect(there).toEqual({ outcome: 'error', error: String(absent.error).replace('shut', 'open') });
        await chmod(closed, 0o755);
        expect(await run(id, 'cat notes', { cwd: inside })).toMatchObject({ output: 'not for models' });
      } finally {
        await rm(closed, { recursive: true });
      }
    },
  );

  asRoot('has no groups but its own', async () => {
    const { output } = await run(await fixture.running(), 'id -u; id -G');
    const [uid, groups] = String(output).trim().split('\n');
    expect(groups).toBe(uid);
  });

  it('that makes a daemon of itself in the foreground ends with its daemon', async () => {
    const { output, note } = await run(
      await fixture.running(),
      'setsid sleep 300 >/dev/null 2>&1 </dev/null & echo $!',
    );
    expect(note).toContain('background: true');
    await eventually(() => !isThere(Number(output)));
  });
});

describe('kill of a background process', () => {
  it.each([
    ['in its group that prints nothing', 'sleep 300 >/dev/null 2>&1 </dev/null & echo $!'],
    ['that made a daemon of itself', 'setsid sleep 300 >/dev/null 2>&1 </dev/null & echo $!'],
    ['that made a daemon of itself, while it runs', 'setsid sleep 300 & echo $!; sleep 300'],
  ])('also ends the process that it left %s', async (_what, command) => {
    const id = await fixture.running();
    const { process_id } = await run(id, command, { background: true });
    const left = await eventually(async () => {
      const { output } = await fixture.run(watcher, id, 'process', { action: 'log', process_id });
      return Number(output) || null; // null: nothing was printed yet
    });
    expect(isThere(left)).toBe(true);
    const killed = await fixture.run(watcher, id, 'process', { action: 'kill', process_id });
    expect(killed).toMatchObject({ outcome: 'ok', state: 'exited' });
    expect(isThere(left)).toBe(false);
  });
});

it('the limit of processes per session counts those that begin in one step', async () => {
  const id = await fixture.running();
  const results = await fixture.runAll(
    watcher,
    id,
    Array.from({ length: 5 }, () => ['terminal', { command: 'sleep 300', background: true }]),
  );
  expect(results.map(({ outcome }) => outcome).sort()).toEqual(['error', 'error', 'error', 'ok', 'ok']);
  expect(results.find(({ outcome }) => outcome === 'error')?.error).toContain('which is the limit');
  for (const { process_id } of results.filter(({ outcome }) => outcome === 'ok')) {
    await fixture.run(watcher, id, 'process', { action: 'kill', process_id });
  }
});

const onSmallDisk = canMount() ? it : it.skip;
onSmallDisk('on a full disk a command is refused with a clear error, and later ones run again', async () => {
  const disk = await mkdtemp(join(tmpdir(), 'angelia-disk-'));
  await chmod(disk, 0o755);
  mount(disk);
  const other = await fixture.watcher('small-disk', disk);
  try {
    const id = await fixture.running();
    const ask = (command: string, more = {}) => fixture.run(other, id, 'terminal', { command, ...more });
    expect(await ask('echo one')).toMatchObject({ output: 'one\n' });
    // Lost output is reported.
    const work = join(disk, 'processes', id, 'work');
    const callId = await fixture.call(id, 'terminal', {
      command: 'head -c 2000000 /dev/zero > fill 2>/dev/null; echo gone',
    });
    await other.checkSession(id);
    // The supervisor has tried to write the output, and then the exit code.
    const exit = join(disk, 'processes', id, foregroundName(callId), `${EXIT_FILE}.tmp`);
    await eventually(() => existsSync(exit));
    await rm(join(work, 'fill'));
    expect(await fixture.result(id, callId)).toMatchObject({
      exit_code: 0,
      output: '',
      note: '5 bytes of its output could not be kept: the disk is full',
    });
    await writeFile(join(work, 'hold'), '');
    const kept = await ask('while [ -e hold ]; do sleep 0.05; done; exit 7', {
      background: true,
      notify_on_complete: true,
    });
    execFileSync('sh', ['-c', `dd if=/dev/zero of=${disk}/filler bs=4k 2>/dev/null || true`]);
    for (const more of [{}, { background: true }]) {
      expect(await ask('echo two', more)).toMatchObject({
        outcome: 'error',
        error: expect.stringContaining('no space left'),
      });
    }
    const { pid } = await fixture.waitFor(id, 'process.started');
    await rm(join(work, 'hold'));
    await eventually(() => !isThere(pid));
    expect(await fixture.of(id, 'process.exited')).toEqual([]);
    await rm(join(disk, 'filler'));
    expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({
      process_id: kept.process_id,
      exit_code: 7,
    });
    expect(await ask('echo three')).toMatchObject({ output: 'three\n' });
  } finally {
    await fixture.crash(other);
    await rm(join(disk, 'processes'), { recursive: true, force: true });
    await eventually(() => {
      execFileSync('umount', [disk], { stdio: 'ignore' });
      return true;
    });
    await rm(disk, { recursive: true });
  }
});

function mount(directory: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=755', 'tmpfs', directory], { stdio: 'ignore' });
}

/** Needs root, and most containers do not allow it. */
function canMount(): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'angelia-mount-'));
  try {
    mount(directory);
    execFileSync('umount', [directory]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(directory, { recursive: true });
  }
}
