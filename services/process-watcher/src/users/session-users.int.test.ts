import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import { createLogger } from '@angelia/service-kit';
import { newSessionId } from '@angelia/sessions';
import { eventually } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SessionDirectories } from '../session-directories.ts';
import { processesOf } from '../supervisor/user-processes.ts';
import { SessionUsers } from './session-users.ts';
import { NoUserLeft, UserNumbers } from './user-numbers.ts';
import type { UserRange } from './user-policy.ts';

const asRoot = process.getuid?.() === 0 ? it : it.skip;
const logger = createLogger({ service: 'process-watcher', instance: 'test', level: 'silent' });
const COUNT = 50_000;
/**
 * Other than the numbers of real sessions, which other tests use at the same time, and of this file in a test run beside
 * this one: both end the processes of their users. The kernel's highest pid is 2 ** 22.
 */
const RANGE: UserRange = { first: 700_000 + (process.pid % 10_000) * 2 * COUNT, count: COUNT };

let directory = '';
const children: ChildProcess[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'angelia-users-'));
  chmodSync(directory, 0o755);
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

/** The users of one stack. All stacks share the table of one host. */
function stack(name = 'data', range: UserRange = RANGE) {
  const userPolicy = { kind: 'own', range, separateUsers: true } as const;
  const directories = new SessionDirectories(join(directory, name), userPolicy);
  const users = new SessionUsers({ userPolicy, directories, logger, table: join(directory, 'table') });
  const begin = (id: SessionId = newSessionId()) => {
    const user = users.of(id);
    directories.makeWorkDirectory(id, user);
    return { id, uid: user?.uid ?? 0 };
  };
  return { directories, users, begin };
}

/** Makes a session's directory as an earlier version did: its user number was a hash of the id. */
function madeByHash(directories: SessionDirectories, id: SessionId): number {
  const uid = hashOf(id);
  const work = directories.makeWorkDirectory(id, { uid, gid: uid });
  writeFileSync(join(work, 'notes'), `of ${id}`, { mode: 0o600 });
  chownSync(join(work, 'notes'), uid, uid);
  return uid;
}

function hashOf(id: SessionId): number {
  return RANGE.first + (createHash('sha256').update(id).digest().readUInt32BE(0) % RANGE.count);
}

function pairOfHash(): [SessionId, SessionId] {
  for (const seen = new Map<number, SessionId>(); ; ) {
    const id = newSessionId();
    const other = seen.get(hashOf(id));
    if (other !== undefined) return [other, id];
    seen.set(hashOf(id), id);
  }
}

async function sleepAs(uid: number): Promise<number> {
  const child = spawn('sleep', ['300'], { uid, gid: uid, stdio: 'ignore', cwd: '/' });
  children.push(child);
  await eventually(() => processesOf(uid).length > 0);
  return child.pid ?? 0;
}

describe('users of sessions', () => {
  asRoot('are unique across two stacks with two watchers each on one host', () => {
    // Half of the numbers are taken, so choosing by chance or by a hash would give one out twice.
    const range = { first: RANGE.first, count: 200 };
    const stacks = ['one', 'one', 'two', 'two'].map((name) => stack(name, range));
    const uids = Array.from({ length: 100 }, (_, n) => stacks[n % 4]?.begin().uid);
    expect(new Set(uids).size).toBe(100);
  });

  asRoot('stay the same after a restart', () => {
    const { id, uid } = stack().begin();
    const again = stack();
    again.users.adopt();
    expect(again.users.of(id)).toEqual({ uid, gid: uid });
    expect(again.users.existing(id)).toEqual({ uid, gid: uid });
  });

  asRoot('are never given out twice if a watcher is killed between taking one and using it', async () => {
    const { directories, users, begin } = stack();
    const id = newSessionId();
    const claims = new UserNumbers(join(directory, 'table'));
    const taken = claims.take({ session: id, directory: directories.makeSessionDirectory(id) }, RANGE);
    expect(begin().uid).not.toBe(taken);
    const { uid } = begin(id);
    expect(users.existing(id)).toEqual({ uid, gid: uid });
    directories.removeSession(id);
    await users.collect();
    expect(claims.taken()).not.toContain(uid);
    expect(claims.taken()).not.toContain(taken);
  });

  asRoot('that an earlier version gave out are kept, and given to nobody else', () => {
    const { directories, users, begin } = stack();
    const ids = Array.from({ length: 20 }, () => newSessionId());
    const old = ids.map((id) => madeByHash(directories, id));
    users.adopt();
    expect(ids.map((id) => users.of(id)?.uid)).toEqual(old);
    const fresh = Array.from({ length: 20 }, () => begin().uid);
    expect(fresh.filter((uid) => old.includes(uid))).toEqual([]);
  });

  asRoot('are separated if two sessions shared one, and each session keeps its files', () => {
    const { directories, users } = stack();
    const pair = pairOfHash();
    expect(madeByHash(directories, pair[0])).toBe(madeByHash(directories, pair[1]));
    users.adopt();
    const [one, two] = pair.map((id) => {
      const notes = join(directories.workDirectory(id), 'notes');
      const uid = users.of(id)?.uid;
      expect(statSync(directories.workDirectory(id)).uid).toBe(uid);
      expect(statSync(notes).uid).toBe(uid);
      expect(readFileSync(notes, 'utf8')).toBe(`of ${id}`);
      return uid;
    });
    expect(one).not.toBe(two);
  });

  asRoot('move with their data directory', () => {
    const { id, uid } = stack('before').begin();
    renameSync(join(directory, 'before'), join(directory, 'after'));
    const after = stack('after');
    after.users.adopt();
    expect(after.users.existing(id)?.uid).toBe(uid);
  });

  asRoot('are refused with a reason when all are taken, never shared', async () => {
    // Its own range: processes of an earlier test may still run as the first users of RANGE.
    const small = { first: RANGE.first + RANGE.count, count: 2 };
    const { directories, users, begin } = stack('data', small);
    const [first] = [begin(), begin()];
    expect(() => begin()).toThrow(NoUserLeft);
    expect(() => begin()).toThrow('all 2 user numbers for commands on this host are taken');
    directories.removeSession(first.id);
    await users.collect();
    expect(begin().uid).toBe(first.uid);
  });

  asRoot('are used again as late as possible', async () => {
    const { directories, users, begin } = stack();
    const { id, uid } = begin();
    directories.removeSession(id);
    await users.collect();
    expect(new UserNumbers(join(directory, 'table')).taken()).toEqual([]);
    expect(begin().uid).toBeGreaterThan(uid);
  });

  asRoot('are not given out while something runs as them', () => {
    const { begin } = stack('data', { first: 0, count: 1 });
    expect(() => begin()).toThrow(NoUserLeft); // root's
  });
});

describe('a user of a session whose files are gone', () => {
  asRoot('loses its processes and its files in open directories, and is free again', async () => {
    const { directories, users, begin } = stack();
    const { id, uid } = begin();
    const left = mkdtempSync('/dev/shm/angelia-left-');
    mkdirSync(join(left, 'deep'));
    for (const path of [join(left, 'deep'), left]) chownSync(path, uid, uid);
    await sleepAs(uid);
    directories.removeSession(id);
    await users.collect();
    expect(processesOf(uid)).toEqual([]);
    expect(existsSync(left)).toBe(false);
    expect(new UserNumbers(join(directory, 'table')).taken()).toEqual([]);
  });

  asRoot('that belongs to another stack is not touched while something runs as it', async () => {
    const other = stack('other');
    const { uid } = other.begin();
    const pid = await sleepAs(uid);
    rmSync(join(directory, 'other'), { recursive: true });
    const { users } = stack('data');
    await users.collect();
    expect(processesOf(uid).map((one) => one.pid)).toEqual([pid]);
    children[0]?.kill('SIGKILL');
    await eventually(() => processesOf(uid).length === 0);
    await users.collect();
    expect(new UserNumbers(join(directory, 'table')).taken()).toEqual([]);
  });
});

asRoot('only processes of a user that the table gives to this session are ended', async () => {
  const { users, directories, begin } = stack();
  const { id, uid } = begin();
  const claims = new UserNumbers(join(directory, 'table'));
  const pid = await sleepAs(uid);
  claims.rewrite(uid, { session: newSessionId(), directory: directories.sessionDirectory(id) });
  expect(await users.end(id)).toBe(0);
  expect(processesOf(uid).map((one) => one.pid)).toEqual([pid]);
  claims.rewrite(uid, { session: id, directory: directories.sessionDirectory(id) });
  expect(await users.end(id)).toBe(1);
  expect(processesOf(uid)).toEqual([]);
});

asRoot('processes that keep replacing themselves are ended', async () => {
  const { users, begin } = stack();
  const { id, uid } = begin();
  // Each one starts the next and ends: one that was listed is gone before we can look at it.
  const beat = join(directory, 'beat');
  writeFileSync(beat, '', { mode: 0o666 });
  chmodSync(beat, 0o666);
  // They end by themselves when the test removes its directory.
  const script = `h() { echo >> ${beat} || exit; h & exit; }; h & h & h & h & h & h & h & h &`;
  const first = spawn('sh', ['-c', script], { uid, gid: uid, stdio: ['ignore', 'pipe', 'ignore'], cwd: '/' });
  children.push(first);
  // All of them inherit this pipe, so it ends when the last one is gone.
  const allGone = once(first.stdout.resume(), 'end');
  await eventually(() => statSync(beat).size > 100);
  await users.end(id);
  await allGone;
});
