import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { foregroundName } from '../session-directories.ts';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import type { Watcher } from '../watcher/watcher.ts';

let fixture: WatcherFixture;
let watcher: Watcher;

beforeAll(async () => {
  fixture = await watcherFixture({ agents: { quiet: { model: 'main' } } });
  watcher = await fixture.watcher();
});
afterAll(() => fixture.stop());

const run = async (command: string, more: Record<string, unknown> = {}) => {
  const id = await fixture.running();
  return fixture.run(watcher, id, 'terminal', { command, ...more });
};
const workFile = (id: SessionId, name: string): string =>
  join(fixture.dataDirectory, 'processes', id, 'work', name);
/** A command waits here until the test calls `goOn`. */
const WAITS = 'until [ -e go ]; do sleep 0.05; done';
const goOn = (id: SessionId) => writeFile(workFile(id, 'go'), '');
const isThere = (pid: number): boolean =>
  existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

describe('a foreground command', () => {
  it('returns its exit code and its output, with stdout and stderr in order', async () => {
    expect(await run('echo one; echo two >&2; echo three; exit 7')).toEqual({
      outcome: 'ok',
      exit_code: 7,
      output: 'one\ntwo\nthree\n',
    });
  });

  it('runs once, even if a check that saw it open claims it after its end (seed 11 of the chaos)', async () => {
    const claims: (() => void)[] = [];
    let slow = false;
    const two = await fixture.watcher('slow', undefined, (own) => ({
      leases: {
        read: async (resource) => {
          const lease = await own.leases.read(resource);
          if (slow) await new Promise<void>((goOn) => claims.push(goOn));
          return lease;
        },
      },
    }));
    const id = await fixture.running();
    const callId = await fixture.call(id, 'terminal', { command: 'echo done >> effects; cat effects' });
    slow = true;
    const late = two.checkSession(id);
    await eventually(() => claims.length === 1);
    slow = false;
    await two.checkSession(id);
    expect(await fixture.result(id, callId)).toMatchObject({ output: 'done\n' });
    await eventually(() => two.sessionsInFlight === 0);
    claims[0]?.();
    await late;
    await eventually(() => two.sessionsInFlight === 0);
    expect(await fixture.run(two, id, 'terminal', { command: 'cat effects' })).toMatchObject({
      output: 'done\n',
    });
    await fixture.crash(two);
  });

  it('that ends within a millisecond is not lost', async () => {
    expect(await run(':')).toEqual({ outcome: 'ok', exit_code: 0, output: '' });
  });

  it('that a signal ends returns the signal instead of an exit code', async () => {
    expect(await run('kill -SEGV $$')).toEqual({
      outcome: 'ok',
      exit_code: null,
      signal: 'SIGSEGV',
      output: '',
    });
  });

  it('that takes too long is ended with everything it started, and keeps its output', async () => {
    // Long enough for it to begin, even on a busy machine.
    const result = await run('trap "" TERM; echo begun; sleep 300 & echo $!; wait; sleep 300', {
      timeout_seconds: 2,
    });
    expect(result).toMatchObject({ outcome: 'ok', exit_code: null, signal: 'SIGKILL', timed_out: true });
    const [begun, child] = String(result.output).trim().split('\n');
    expect(begun).toBe('begun');
    expect(isThere(Number(child))).toBe(false);
  });

  it('that leaves a process running still ends, and that process is ended', async () => {
    const result = await run('sleep 300 & echo $!');
    expect(result).toMatchObject({ exit_code: 0, note: expect.stringContaining('background: true') });
    await eventually(() => !isThere(Number(result.output)));
  });

  it('that closes its output and keeps working returns its exit code', async () => {
    expect(await run('exec >&- 2>&-; sleep 0.3; exit 3')).toEqual({
      outcome: 'ok',
      exit_code: 3,
      output: '',
    });
  });

  it('that prints bytes that are not text shows the part that is', async () => {
    const result = await run("printf 'a\\377\\376b\\000c'");
    expect(result.output).toMatch(/^a\uFFFD\uFFFDb.*c$/s);
  });

  it('that prints a lot shows the beginning and the end, and keeps a bounded file', async () => {
    const id = await fixture.running();
    const callId = await fixture.call(id, 'terminal', {
      command: 'echo first; yes 0123456789 | head -c 20000000; echo last',
    });
    await watcher.checkSession(id);
    const dir = join(fixture.dataDirectory, 'processes', id, foregroundName(callId));
    let most = 0;
    const polling = setInterval(() => {
      if (existsSync(dir))
        most = Math.max(most, readdirSync(dir).filter((name) => name.startsWith('output.')).length);
    }, 5);
    const { output } = await fixture.result(id, callId);
    clearInterval(polling);
    expect(String(output).length).toBeLessThan(40_000);
    expect(output).toMatch(/bytes left out \.\.\.\]\n[\s\S]*last\n$/);
    expect(most).toBeLessThanOrEqual(2);
  });

  it('runs in its session’s own directory, where the next command finds its files', async () => {
    const id = await fixture.running();
    await fixture.run(watcher, id, 'terminal', { command: 'mkdir sub && echo hello > sub/file' });
    const again = await fixture.run(watcher, id, 'terminal', { command: 'cat file; pwd', cwd: 'sub' });
    expect(again.output).toMatch(new RegExp(`^hello\\n.*${id}/work/sub\\n$`));
    expect(await fixture.run(watcher, id, 'terminal', { command: 'pwd', cwd: 'nowhere' })).toMatchObject({
      outcome: 'error',
      error: expect.stringContaining('there is no directory'),
    });
  });

  it('sees none of the service’s environment', async () => {
    process.env.DATABASE_URL ??= 'postgres://somebody:secret@nowhere/db';
    const { output } = await run('env');
    expect(output).toContain('ANGELIA_SESSION_ID=');
    expect(output).not.toMatch(/DATABASE_URL|NODE_|JEST|ANGELIA_(?!SESSION_ID|CONVERSATION_ID|COMMAND_ID)/);
  });

  const asRoot = process.getuid?.() === 0 ? it : it.skip;
  asRoot('runs as its session’s own user, who can read neither our files nor another session’s', async () => {
    const other = await fixture.running();
    const { output: theirs } = await fixture.run(watcher, other, 'terminal', {
      command: 'echo x > secret; pwd',
    });
    const { output } = await run(
      `id -u; cat /proc/${process.pid}/environ; ls ${fixture.dataDirectory}/processes; ls ${String(theirs).trim()}; ` +
        `kill -0 ${process.pid}; ls ${fixture.dataDirectory}/processes/supervisors; ulimit -c`,
    );
    const [uid, ...said] = String(output).trim().split('\n');
    expect(Number(uid)).toBeGreaterThanOrEqual(200_000);
    expect(said).toHaveLength(6);
    // If commands have a mount namespace, much of it is not even there.
    for (const line of said.slice(0, 5)) expect(line).toMatch(/Permission denied|not permitted|No such file/);
    expect(said[5]).toBe('0');
  });

  it('of a route that does not allow terminal is refused', async () => {
    const id = await fixture.running({ toolsets: ['clarify'] });
    expect(await fixture.run(watcher, id, 'terminal', { command: 'echo no' })).toMatchObject({
      outcome: 'error',
      error: expect.stringContaining('does not allow'),
    });
  });

  it('of an agent without terminal is refused, whatever the log allows the session', async () => {
    const id = await fixture.running({ agent: 'quiet', toolsets: ['terminal'] });
    expect(await fixture.run(watcher, id, 'terminal', { command: 'echo no' })).toMatchObject({
      outcome: 'error',
      error: expect.stringContaining('does not allow'),
    });
  });

  it('of a cancelled session is ended', async () => {
    const id = await fixture.running();
    await fixture.call(id, 'terminal', { command: 'echo $$ > pid; sleep 300' });
    await watcher.checkSession(id);
    const file = workFile(id, 'pid');
    const pid = await eventually(() => (existsSync(file) && Number(readFileSync(file, 'utf8'))) || null);
    expect(isThere(pid)).toBe(true);
    await fixture.execute(id, { type: 'cancel', by: 'test' });
    // Even without the message that makes it quick.
    await eventually(() => !isThere(pid) && watcher.sessionsInFlight === 0);
    expect((await fixture.events(id)).at(-1)?.type).toBe('session.ended');
  });

  it('runs once, however many watchers look at it, and how often', async () => {
    const second = await fixture.watcher('process-watcher-2');
    const id = await fixture.running();
    const callId = await fixture.call(id, 'terminal', { command: `echo x >> times; ${WAITS}; cat times` });
    await Promise.all([
      watcher.checkSession(id),
      second.checkSession(id),
      watcher.checkSession(id),
      second.checkSession(id),
    ]);
    await goOn(id);
    expect(await fixture.result(id, callId)).toMatchObject({ output: 'x\n' });
    await Promise.all([watcher.checkSession(id), second.checkSession(id)]);
    expect((await fixture.of(id, 'tool.finished')).map(({ outcome }) => outcome)).toEqual(['ok']);
    await fixture.crash(second);
  });

  it('whose watcher dies gets its result from the next watcher, and does not run again', async () => {
    const first = await fixture.watcher('process-watcher-3');
    const id = await fixture.running();
    const callId = await fixture.call(id, 'terminal', {
      command: `echo x >> times; ${WAITS}; cat times; exit 5`,
    });
    await first.checkSession(id);
    await eventually(() => existsSync(workFile(id, 'times')));
    await fixture.crash(first);
    await goOn(id);
    const next = await fixture.watcher('process-watcher-3');
    expect(await fixture.result(id, callId)).toEqual({ outcome: 'ok', exit_code: 5, output: 'x\n' });
    await fixture.crash(next);
  });

  it('runs on only one of two watchers on different hosts', async () => {
    const shared = await mkdtemp(join(tmpdir(), 'angelia-shared-'));
    await chmod(shared, 0o777);
    const elsewhere = await mkdtemp(join(tmpdir(), 'angelia-elsewhere-'));
    const other = await fixture.watcher('other-host', elsewhere);
    const id = await fixture.running();
    const command = `echo x >> ${shared}/times; cd ${shared}; ${WAITS}`;
    const callId = await fixture.call(id, 'terminal', { command });
    await Promise.all([watcher.checkSession(id), other.checkSession(id)]);
    await writeFile(join(shared, 'go'), '');
    expect(await fixture.result(id, callId)).toMatchObject({ outcome: 'ok' });
    expect(readFileSync(join(shared, 'times'), 'utf8')).toBe('x\n');
    // From now on the session is that watcher's, whichever hears of it first.
    const [{ watcher: owner } = { watcher: null }] = await fixture.of(id, 'tool.finished');
    const next = await fixture.call(id, 'terminal', { command: 'pwd' });
    await (owner === 'other-host' ? watcher : other).checkSession(id);
    const { output } = await fixture.result(id, next);
    const host = owner === 'other-host' ? elsewhere : fixture.dataDirectory;
    expect(String(output).includes(host) || String(output).includes('angelia-work-')).toBe(true);
    expect((await fixture.of(id, 'tool.finished')).map(({ watcher: by }) => by)).toEqual([owner, owner]);
    await fixture.crash(other);
    await Promise.all([shared, elsewhere].map((dir) => rm(dir, { recursive: true })));
  });

  it('whose supervisor was killed has an unknown outcome, and does not run again', async () => {
    const first = await fixture.watcher('killed-supervisor');
    const id = await fixture.running();
    const callId = await fixture.call(id, 'terminal', {
      command: 'echo $PPID > pid; echo x >> times; sleep 300',
    });
    await first.checkSession(id);
    const work = join(fixture.dataDirectory, 'processes', id, 'work');
    // The command may be faster than the supervisor, which records the start.
    const started = join(fixture.dataDirectory, 'processes', id, foregroundName(callId), 'started.json');
    await eventually(() => existsSync(join(work, 'times')) && existsSync(started));
    const { pid } = JSON.parse(readFileSync(started, 'utf8'));
    await fixture.crash(first);
    process.kill(Number(readFileSync(join(work, 'pid'), 'utf8')), 'SIGKILL');
    process.kill(-pid, 'SIGKILL');
    const next = await fixture.watcher('killed-supervisor');
    expect(await fixture.result(id, callId)).toMatchObject({ outcome: 'unknown' });
    expect(readFileSync(join(work, 'times'), 'utf8')).toBe('x\n');
    await fixture.crash(next);
  });
});
