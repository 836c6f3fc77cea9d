import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { clearDead, lockOwner, tryLock } from './lock.mjs';
import { identityOf, isSameProcess } from './process-identity.mjs';

let dir: string;
let path: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'angelia-lock-'));
  path = join(dir, 'the.lock');
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

function leaveLockOf(pid: number, identity: string | null): void {
  mkdirSync(path);
  writeFileSync(join(path, 'owner.json'), JSON.stringify({ pid, identity, nonce: 'abc', note: {} }));
}

const deadPid = (): number => spawnSync('true').pid;

describe('the identity of a process', () => {
  it('stays the same while it runs, and is null when it has ended', () => {
    expect(identityOf(process.pid)).not.toBeNull();
    expect(isSameProcess(process.pid, identityOf(process.pid))).toBe(true);
    expect(identityOf(deadPid())).toBeNull();
  });

  it('differs from that of another process with the same pid', () => {
    expect(isSameProcess(process.pid, 'another-boot:12345')).toBe(false);
    expect(isSameProcess(process.pid, null)).toBe(false);
  });
});

describe('a lock', () => {
  it('is held until it is released', () => {
    const first = tryLock(path, { what: 'first' });
    expect(tryLock(path)).toMatchObject({ heldBy: { pid: process.pid, note: { what: 'first' } } });
    if ('lock' in first) first.lock.release();
    expect(lockOwner(path)).toBeNull();
    expect(tryLock(path)).toHaveProperty('lock');
  });

  it('of a dead process can be taken', () => {
    leaveLockOf(deadPid(), 'some-boot:1');
    expect(tryLock(path)).toMatchObject({ lock: { previous: { nonce: 'abc' } } });
    expect(lockOwner(path)?.pid).toBe(process.pid);
  });

  it('of a process whose pid now belongs to another one can be taken', () => {
    leaveLockOf(process.pid, 'some-boot:1');
    expect(tryLock(path)).toHaveProperty('lock');
  });

  it('that has a new owner stays with it when the old owner releases it', () => {
    const lost = tryLock(path);
    rmSync(path, { recursive: true });
    tryLock(path, { what: 'new' });
    if ('lock' in lost) lost.lock.release();
    expect(lockOwner(path)?.note).toEqual({ what: 'new' });
  });

  it('of a dead process is cleared once: a late process does not clear the new owner', () => {
    leaveLockOf(deadPid(), 'some-boot:1');
    const seen = lockOwner(path);
    tryLock(path, { what: 'new' });
    if (seen) clearDead(path, seen);
    expect(lockOwner(path)?.note).toEqual({ what: 'new' });
  });

  it('of a dead process is taken by only one of many that try at once', async () => {
    leaveLockOf(deadPid(), 'some-boot:1');
    const module = new URL('./lock.mjs', import.meta.url).href;
    // Each process keeps its lock until all have tried.
    const code = `import { tryLock } from '${module}';
      console.log('lock' in tryLock(process.argv[1]) ? 'got' : 'not'); process.stdin.resume();`;
    const tries = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', code, path], {
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    );
    const answers = await Promise.all(
      tries.map(
        (child) => new Promise((resolve) => child.stdout.once('data', (data) => resolve(`${data}`.trim()))),
      ),
    );
    const ends = tries.map((child) => new Promise((resolve) => child.once('close', resolve)));
    for (const child of tries) child.stdin.end();
    await Promise.all(ends);
    expect(answers.sort()).toEqual(['got', 'not', 'not', 'not']);
    expect(readdirSync(dir).filter((name) => name.includes('.new-'))).toEqual([]);
  });
});
