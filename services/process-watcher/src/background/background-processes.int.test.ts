import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventData, SessionId } from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { membersOf, signalGroup, statOf } from '../supervisor/process-identity.ts';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import type { Watcher } from '../watcher/watcher.ts';

let fixture: WatcherFixture;
let watcher: Watcher;

beforeAll(async () => {
  fixture = await watcherFixture({
    agent: { processes: { max_per_session: 4, max_wait_seconds: 3600 } },
    processWatcher: { output_bytes: 262_144 },
  });
  watcher = await fixture.watcher();
});
afterAll(() => fixture.stop());

const isThere = (pid: number): boolean => {
  const stat = statOf(pid);
  return stat !== null && stat.state !== 'Z';
};
const directory = (id: SessionId, processId: string): string =>
  join(fixture.dataDirectory, 'processes', id, processId);
const workFile = (id: SessionId, name: string): string =>
  join(fixture.dataDirectory, 'processes', id, 'work', name);

const begin = (id: SessionId, command: string, more: Record<string, unknown> = {}, by = watcher) =>
  fixture.begin(by, id, command, more);
const act = (id: SessionId, action: string, more: Record<string, unknown> = {}, by = watcher) =>
  fixture.run(by, id, 'process', { action, ...more });
const notices = (id: SessionId) => fixture.notices(id);

/** A command waits here until the test calls `goOn`, which needs no watcher. */
const WAITS = 'until [ -e go ]; do sleep 0.05; done';
const goOn = (id: SessionId): void => writeFileSync(workFile(id, 'go'), '');
/** The same for a command that reads a line first. */
const tell = (id: SessionId, processId: string, by = watcher) =>
  by.commands.write(id, processId, '\n', false);

/** The name of all watchers after the first: watchers of one name share a supervisor. */
const SECOND = 'second';

describe('a background process', () => {
  it('is recorded with its unique identity, and its end becomes a turn with exit code and last output', async () => {
    const id = await fixture.running();
    const processId = await begin(
      id,
      'echo working; read line; echo almost; API_TOKEN=hunter2hunter2 true; exit 7',
      {
        notify_on_complete: true,
      },
    );
    expect(processId).toMatch(/^proc_[0-9a-f]{16}$/);
    const [started] = await fixture.of(id, 'process.started');
    expect(started).toMatchObject({
      process_id: processId,
      command: 'echo working; read line; echo almost; API_TOKEN=[redacted] true; exit 7',
      boot_id: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
      pid_start_time: expect.stringMatching(/^\d+$/),
      cwd: expect.stringContaining(`${id}/work`),
      notify_on_complete: true,
      watcher: 'process-watcher',
    });
    await fixture.answer(id, 'started it');
    expect((await fixture.sessions.load(id)).state.ended).toBeNull();
    await tell(id, processId);
    expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({ exit_code: 7, signal: null });
    expect(await notices(id)).toEqual([
      `[Background process ${processId} exited with exit code 7]\nworking\nalmost`,
    ]);
    await fixture.startRun(id, 2);
    await fixture.answer(id, 'it failed');
    expect((await fixture.sessions.load(id)).state.ended).toMatchObject({ outcome: 'succeeded' });
  });

  it('without a watch makes no turn, and does not keep its session open', async () => {
    const id = await fixture.running();
    const processId = await begin(id, 'read line; exit 3');
    await fixture.answer(id);
    expect((await fixture.sessions.load(id)).state.ended).not.toBeNull();
    await tell(id, processId);
    expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({ exit_code: 3 });
    expect(await notices(id)).toEqual([]);
  });

  it('of a cancelled session has its end recorded, and nothing else happens', async () => {
    const id = await fixture.running();
    const processId = await begin(id, 'read line; exit 4', { notify_on_complete: true });
    await fixture.execute(id, { type: 'cancel', by: 'test' });
    await tell(id, processId);
    expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({ exit_code: 4 });
    expect(await notices(id)).toEqual([]);
  });

  it('and another one of the same turn make two notices', async () => {
    const id = await fixture.running();
    const both = [
      await begin(id, 'read line; exit 1', { notify_on_complete: true }),
      await begin(id, 'read line; exit 2', { notify_on_complete: true }),
    ];
    await fixture.answer(id);
    for (const processId of both) await tell(id, processId);
    await eventually(async () => (await notices(id)).length === 2);
    expect((await notices(id)).map((text) => text.match(/exit code \d/)?.[0]).sort()).toEqual([
      'exit code 1',
      'exit code 2',
    ]);
  });

  it('that forks and exits has ended; its child still prints into its log', async () => {
    const id = await fixture.running();
    const processId = await begin(id, `(${WAITS}; echo child; exec sleep 300) & echo parent; exit 0`, {
      notify_on_complete: true,
    });
    expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({ exit_code: 0 });
    expect(await act(id, 'log', { process_id: processId })).toMatchObject({ output: 'parent\n' });
    goOn(id);
    await eventually(
      async () => (await act(id, 'log', { process_id: processId })).output === 'parent\nchild\n',
    );
    const { pid } = await fixture.waitFor(id, 'process.started');
    expect(membersOf(pid)).toHaveLength(1);
    await act(id, 'kill', { process_id: processId });
    expect(membersOf(pid)).toEqual([]);
  });

  it('is not confused with another program that got its pid: that one is neither adopted nor killed', async () => {
    const id = await fixture.running();
    const first = await fixture.watcher(SECOND);
    const processId = await begin(id, 'sleep 300', { notify_on_complete: true }, first);
    const { pid } = await fixture.waitFor(id, 'process.started');
    await fixture.crash(first);
    // As after a reboot or a wrap-around: the pid belongs to another process, and no supervisor knows it.
    const other = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });
    const file = join(directory(id, processId), 'started.json');
    const known = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...known, pid: other.pid, pidStartTime: '1' }));
    const begun = join(directory(id, processId), 'begun.json');
    writeFileSync(begun, JSON.stringify({ at: '', supervisor: '/nowhere' }));
    const next = await fixture.watcher(SECOND);
    expect(await fixture.waitFor(id, 'process.lost')).toMatchObject({ process_id: processId });
    await act(id, 'kill', { process_id: processId }, next);
    expect(isThere(other.pid ?? 0)).toBe(true);
    expect(await notices(id)).toEqual([expect.stringMatching(/ was lost\]/)]);
    other.kill('SIGKILL');
    signalGroup(pid, 'SIGKILL');
    await fixture.crash(next);
  });

  it('that exits without a watcher is reported once, by the next one', async () => {
    const id = await fixture.running();
    const first = await fixture.watcher(SECOND);
    const processId = await begin(id, `${WAITS}; echo bye; exit 9`, { notify_on_complete: true }, first);
    await fixture.answer(id);
    await fixture.crash(first);
    goOn(id);
    await eventually(() => existsSync(join(directory(id, processId), 'exit.json')));
    expect(await fixture.of(id, 'process.exited')).toEqual([]);
    const next = await fixture.watcher(SECOND);
    // It does so at its start: there is no sweep here.
    expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({ exit_code: 9, output_tail: 'bye' });
    await fixture.crash(next);
    const third = await fixture.watcher(SECOND);
    await third.checkSession(id);
    expect(await notices(id)).toEqual([`[Background process ${processId} exited with exit code 9]\nbye`]);
    await fixture.crash(third);
  });

  it('of a host that is gone for good is lost, even if a session before it cannot be read; the next call runs elsewhere', async () => {
    const gone = await fixture.watcher(SECOND);
    const [broken, id] = [await fixture.running(), await fixture.running()];
    await begin(broken, 'sleep 300', { notify_on_complete: true }, gone);
    const processId = await begin(id, 'sleep 300', { notify_on_complete: true }, gone);
    const elsewhere = await mkdtemp(join(tmpdir(), 'angelia-elsewhere-'));
    const other = await fixture.watcher('elsewhere', elsewhere, (own) => ({
      streams: {
        read: async (stream, from) => {
          if (stream === broken) throw new Error('it cannot be read');
          return own.streams.read(stream, from);
        },
      },
    }));
    await other.checkSession(id);
    await other.checkForLost();
    expect(await fixture.of(id, 'process.lost')).toEqual([]);
    await fixture.crash(gone);
    await fixture.isGone(SECOND);
    await other.checkForLost();
    await fixture.waitFor(id, 'process.lost');
    expect(await notices(id)).toEqual([`[Background process ${processId} was lost]`]);
    expect(await fixture.run(other, id, 'terminal', { command: 'echo here' })).toMatchObject({
      output: 'here\n',
    });
    await fixture.crash(other);
    rmSync(elsewhere, { recursive: true });
    for (const session of [broken, id]) {
      process.kill(-(await fixture.waitFor(session, 'process.started')).pid, 'SIGKILL');
    }
  });

  it('beyond the session’s limit is refused with a clear error', async () => {
    const id = await fixture.running();
    const ids = [];
    for (let n = 0; n < 4; n += 1) ids.push(await begin(id, 'sleep 300'));
    expect(
      await fixture.run(watcher, id, 'terminal', { command: 'sleep 300', background: true }),
    ).toMatchObject({
      outcome: 'error',
      error: expect.stringContaining('which is the limit'),
    });
    await fixture.runAll(
      watcher,
      id,
      ids.map((process_id) => ['process', { action: 'kill', process_id }]),
    );
    expect(await begin(id, 'true')).toMatch(/^proc_/);
  });
});

it('the files of a session stay for a while after its end, then are removed', async () => {
  const id = await fixture.running();
  await begin(id, 'true');
  await fixture.waitFor(id, 'process.exited');
  const files = join(fixture.dataDirectory, 'processes', id);
  const inFourDays = Date.now() + 4 * 86_400_000;
  await watcher.cleanup.removeOldFiles(inFourDays);
  expect(existsSync(files)).toBe(true); // it has not ended
  await fixture.answer(id);
  await watcher.cleanup.removeOldFiles();
  expect(existsSync(files)).toBe(true);
  await watcher.cleanup.removeOldFiles(inFourDays);
  expect(existsSync(files)).toBe(false);
});

describe('a process that prints', () => {
  it('one endless line ends, keeps a bounded file, and uses no memory of ours', async () => {
    const id = await fixture.running();
    // More than the supervisor may use below.
    const processId = await begin(id, 'head -c 400000000 /dev/zero; echo x; echo end; exit 6', {
      notify_on_complete: true,
      watch_patterns: ['nowhere in it'],
    });
    const { pid } = await fixture.waitFor(id, 'process.started');
    const supervisor = Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]);
    let most = 0;
    const polling = setInterval(() => {
      const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${supervisor}/status`, 'utf8'))?.[1];
      most = Math.max(most, Number(rss));
    }, 50);
    const heap = process.memoryUsage().rss;
    expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({
      exit_code: 6,
      output_tail: expect.stringMatching(/x\nend$/),
    });
    clearInterval(polling);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(250_000);
    expect(process.memoryUsage().rss - heap).toBeLessThan(100 * 1_048_576);
    expect(size(directory(id, processId))).toBeLessThanOrEqual(262_144);
    expect((await fixture.events(id)).length).toBeLessThan(10);
  });

  it('nothing keeps running', async () => {
    const id = await fixture.running();
    const processId = await begin(id, 'read line; exit 8', { notify_on_complete: true });
    expect(await act(id, 'poll', { process_id: processId })).toMatchObject({ state: 'running', output: '' });
    await tell(id, processId);
    expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({ exit_code: 8, output_tail: '' });
  });
});

describe('watch patterns', () => {
  it('make a turn of a line that holds one, even if it is printed in pieces, and show the whole line', async () => {
    const id = await fixture.running();
    const processId = await begin(id, "printf 'server is re'; read line; echo 'ady on 8080'; sleep 300", {
      watch_patterns: ['ready on'],
    });
    await eventually(
      async () => (await act(id, 'poll', { process_id: processId })).output === 'server is re',
    );
    await tell(id, processId);
    expect(await fixture.waitFor(id, 'process.matched')).toMatchObject({
      match: 1,
      pattern: 'ready on',
      line: 'server is ready on 8080',
    });
    expect(await notices(id)).toEqual([
      `[Background process ${processId} matched "ready on"]\nserver is ready on 8080`,
    ]);
    await act(id, 'kill', { process_id: processId });
  });

  it('find what a process prints right before its end', async () => {
    const commands = ['echo so far; echo it is ready', 'printf "it is ready"'];
    const expectMatch = async (n: number): Promise<void> => {
      const id = await fixture.running();
      await begin(id, String(commands[n % 2]), { watch_patterns: ['ready'] });
      await fixture.waitFor(id, 'process.exited');
      expect(await notices(id)).toEqual([expect.stringMatching(/matched "ready"\]\nit is ready$/)]);
    };
    await Promise.all(Array.from({ length: 10 }, (_, n) => expectMatch(n)));
  });

  it('start nothing after the turn was answered', async () => {
    const id = await fixture.running();
    const processId = await begin(id, 'read line; echo ready; sleep 300', { watch_patterns: ['ready'] });
    await fixture.answer(id);
    await tell(id, processId);
    await fixture.waitFor(id, 'process.matched');
    expect(await notices(id)).toEqual([]);
    await watcher.commands.stop(id, processId, 0);
  });

  it('turn off with one last notice when they match all the time; events do not grow with output', async () => {
    const id = await fixture.running();
    const processId = await begin(id, 'yes ready', { watch_patterns: ['ready'] });
    await eventually(async () => (await fixture.of(id, 'process.matched')).length === 2);
    const before = (await fixture.events(id)).length;
    await eventually(
      () => size(directory(id, processId)) > 0 && outputStart(directory(id, processId)) > 50_000_000,
    );
    expect((await fixture.events(id)).length).toBe(before);
    expect(size(directory(id, processId))).toBeLessThanOrEqual(262_144 + 65_536);
    expect((await fixture.of(id, 'process.matched')).map(({ overload }) => overload)).toEqual([false, true]);
    expect((await notices(id)).at(-1)).toMatch(/its watch is off\]/);
    await act(id, 'kill', { process_id: processId });
  });
});

describe('a watcher that starts again', () => {
  /** Sessions whose watcher went down while they had processes, in the order in which the next one finds them. */
  async function left(command: string, more: Record<string, unknown>, sessions: number) {
    const first = await fixture.watcher(SECOND);
    const found = [];
    for (let n = 0; n < sessions; n += 1) {
      const id = await fixture.running();
      found.push({ id, processId: await begin(id, command, more, first) });
    }
    await fixture.crash(first);
    return found.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  it('adopts what it can, even if a session before that cannot be read; adopts that one later', async () => {
    const [broken, good] = await left(`${WAITS}; exit 4`, {}, 2);
    if (broken === undefined || good === undefined) throw new Error('no sessions');
    for (const { id } of [broken, good]) goOn(id);
    let isBroken = true;
    const next = await fixture.watcher(SECOND, undefined, (own) => ({
      streams: {
        read: async (id, from) => {
          if (isBroken && id === broken.id) throw Object.assign(new Error('not now'), { retryable: true });
          return own.streams.read(id, from);
        },
      },
    }));
    expect(await fixture.waitFor(good.id, 'process.exited')).toMatchObject({ exit_code: 4 });
    expect(await fixture.of(broken.id, 'process.exited')).toEqual([]);
    isBroken = false;
    expect(await fixture.waitFor(broken.id, 'process.exited')).toMatchObject({ exit_code: 4 });
    await fixture.crash(next);
  });

  it('records many matches with one read of the stream, not one read each', async () => {
    const [process] = await left('read line', { watch_patterns: ['ready'] }, 1);
    if (process === undefined) throw new Error('no session');
    const { id, processId } = process;
    const MATCHES = 100;
    const lines = Array.from({ length: MATCHES }, (_, n) =>
      JSON.stringify({ match: n + 1, pattern: 'ready', line: `ready ${n}`, overload: false }),
    );
    writeFileSync(join(directory(id, processId), 'matches.jsonl'), `${lines.join('\n')}\n`);
    let read = 0;
    const next = await fixture.watcher(SECOND, undefined, (own) => ({
      streams: {
        read: async (stream, from) => {
          const events = await own.streams.read(stream, from);
          read += stream === id ? events.length : 0;
          return events;
        },
      },
    }));
    await eventually(async () => (await fixture.of(id, 'process.matched')).length === MATCHES);
    await tell(id, processId, next);
    await fixture.waitFor(id, 'process.exited');
    expect(await fixture.of(id, 'process.matched')).toHaveLength(MATCHES);
    // Quadratic would be some 10,000. This is a check, the matches and the end.
    expect(read).toBeLessThan(5 * MATCHES);
    await fixture.crash(next);
  });
});

it('the time that a session waits for a process is measured by the database’s clock', async () => {
  const now = Date.now;
  const wrong = 7 * 86_400_000;
  const first = await fixture.watcher(SECOND);
  const id = await fixture.running();
  Date.now = () => now() + wrong;
  try {
    await begin(id, 'true', { notify_on_complete: true }, first);
  } finally {
    Date.now = now;
  }
  const event = (await fixture.events(id)).find(({ type }) => type === 'process.started');
  if (event === undefined) throw new Error('it was not started');
  const { wait_deadline } = event.data as EventData<'process.started'>;
  const waits = Date.parse(wait_deadline ?? '') - event.recordedAt;
  expect(Math.abs(waits - 3_600_000)).toBeLessThan(wrong / 2);
  await fixture.crash(first);
});

describe('a supervisor in trouble', () => {
  const pidOf = async (id: SessionId): Promise<number> => (await fixture.waitFor(id, 'process.started')).pid;
  const parentOf = (pid: number): number =>
    Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]);

  it('keeps an exit code until it has file descriptors again', async () => {
    const own = await fixture.watcher(SECOND);
    const id = await fixture.running();
    const processId = await begin(id, 'read line; exit 3', { notify_on_complete: true }, own);
    const pid = await pidOf(id);
    const supervisor = parentOf(pid);
    const limit = (files: number) =>
      execFileSync('prlimit', ['--pid', String(supervisor), `--nofile=${files}:`]);
    limit(3); // Its own are all above that.
    try {
      await tell(id, processId, own);
      await eventually(() => statOf(pid) === null);
    } finally {
      limit(1_024);
    }
    expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({ exit_code: 3 });
    await fixture.crash(own);
  });

  it('that hangs does not block a call for ever, loses no exit and starts nothing twice', async () => {
    const hangs = await fixture.watcher(SECOND, undefined, undefined, { answerMs: 200 });
    const id = await fixture.running();
    const processId = await begin(id, 'sleep 300', { notify_on_complete: true }, hangs);
    const pid = await pidOf(id);
    const supervisor = parentOf(pid);
    process.kill(supervisor, 'SIGSTOP');
    try {
      expect(await act(id, 'write', { process_id: processId, data: 'x' }, hangs)).toEqual({
        outcome: 'unknown',
        error: expect.stringContaining('does not answer'),
      });
      await hangs.commands.stop(id, processId, 0);
      await eventually(() => !isThere(pid));
      const callId = await fixture.call(id, 'terminal', { command: 'echo once >> ran' });
      await hangs.checkSession(id);
      // The start gets no answer and is requested again.
      for (const running of [2, 1, 2]) {
        await eventually(() => hangs.commands.running === running);
      }
      expect(await fixture.of(id, 'process.exited')).toEqual([]);
      expect(await fixture.of(id, 'process.lost')).toEqual([]);
      process.kill(supervisor, 'SIGCONT');
      expect(await fixture.result(id, callId)).toMatchObject({ outcome: 'ok', exit_code: 0 });
      expect(readFileSync(workFile(id, 'ran'), 'utf8')).toBe('once\n');
      expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({ exit_code: null });
    } finally {
      process.kill(supervisor, 'SIGCONT');
    }
    await fixture.crash(hangs);
  });
});

describe('a watcher that goes down', () => {
  /** A log that blocks in the first append of this event type, and then fails as if Postgres were down. */
  const stuckAt = (type: string) => {
    const stuck = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const slowed = (own: EventLog): Pick<EventLog, 'append'> => ({
      append: async (request) => {
        if (request.streams.some(({ events }) => events.some((event) => event.type === type))) {
          stuck.resolve();
          await release.promise;
          throw Object.assign(new Error('Postgres is away'), { retryable: true });
        }
        return own.append(request);
      },
    });
    return { slowed, stuck: stuck.promise, release: release.resolve };
  };

  it.each([
    ['process.matched', 'echo ready; sleep 300'],
    ['process.exited', 'echo ready'],
  ])('while %s is being recorded leaves that to the next watcher', async (type, command) => {
    const id = await fixture.running();
    const log = stuckAt(type);
    const first = await fixture.watcher(SECOND, undefined, log.slowed);
    const processId = await begin(id, command, { watch_patterns: ['ready'] }, first);
    await log.stuck;
    const closed = fixture.crash(first);
    log.release();
    // An unhandled error fails this test.
    await closed;
    const next = await fixture.watcher(SECOND);
    await fixture.waitFor(id, type as 'process.matched');
    expect(await fixture.of(id, 'process.matched')).toHaveLength(1);
    await next.commands.stop(id, processId, 0);
    await fixture.crash(next);
  });
});

function size(dir: string): number {
  return readdirSync(dir)
    .filter((name) => name.startsWith('output.'))
    .reduce((sum, name) => {
      try {
        return sum + statSync(join(dir, name)).size;
      } catch {
        return sum; // rotated away
      }
    }, 0);
}

function outputStart(dir: string): number {
  const starts = readdirSync(dir)
    .filter((name) => name.startsWith('output.'))
    .map((name) => Number(name.slice(7)));
  return Math.max(0, ...starts);
}
