// A lock that a killed holder does not keep: a directory that names its owner. It is renamed into place with the owner file
// already in it (a rename onto a directory that is not empty fails), so the lock never exists without an owner.
//
// A dead owner's lock is renamed to a name made of that owner's nonce, and kept there for a while. So two processes that find
// the same dead owner cannot both clear it: the second rename fails on the result of the first, and cannot hit the new
// owner's lock instead.

import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { identityOf, isSameProcess } from './process-identity.mjs';

/** How long the name of a cleared lock stays reserved: longer than any pause between a look and a rename. */
const CLEARED_KEPT_MS = 10 * 60 * 1000;

/**
 * @typedef {{ pid: number, identity: string | null, nonce: string, note: Record<string, unknown> }} LockOwner
 * @typedef {{ release: () => void, previous: LockOwner | null }} Lock
 */

/**
 * Takes the lock, or returns its holder.
 * @param {string} path
 * @param {Record<string, unknown>} [note] what other processes may want to know about the owner
 * @returns {{ lock: Lock } | { heldBy: LockOwner }}
 */
export function tryLock(path, note = {}) {
  mkdirSync(dirname(path), { recursive: true });
  const owner = {
    pid: process.pid,
    identity: identityOf(process.pid),
    nonce: randomBytes(8).toString('hex'),
    note,
  };
  const candidate = `${path}.new-${owner.nonce}`;
  mkdirSync(candidate);
  writeFileSync(join(candidate, 'owner.json'), JSON.stringify(owner));
  let previous = null;
  try {
    for (;;) {
      if (renameOnto(candidate, path)) {
        removeOldCleared(path);
        return { lock: { release: () => release(path, owner.nonce), previous } };
      }
      const holder = lockOwner(path);
      if (holder === null) continue; // it was released meanwhile
      if (isSameProcess(holder.pid, holder.identity)) return { heldBy: holder };
      previous = holder;
      clearDead(path, holder);
    }
  } finally {
    rmSync(candidate, { recursive: true, force: true });
  }
}

/**
 * Takes the lock; waits until its owner releases it or dies.
 * @param {string} path
 * @param {{ onWait?: (owner: LockOwner) => void }} [options]
 * @returns {Promise<Lock>}
 */
export async function lockWhenFree(path, options = {}) {
  let told = false;
  for (;;) {
    const result = tryLock(path);
    if ('lock' in result) return result.lock;
    if (!told) options.onWait?.(result.heldBy);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/**
 * @param {string} path
 * @returns {LockOwner | null} null if nobody has it
 */
export function lockOwner(path) {
  try {
    return JSON.parse(readFileSync(join(path, 'owner.json'), 'utf8'));
  } catch {
    return null;
  }
}

/**
 * Only the first process that saw this dead owner has an effect, however late the others come.
 * @param {string} path
 * @param {LockOwner} holder
 */
export function clearDead(path, holder) {
  renameOnto(path, `${path}.cleared-${holder.nonce}`);
}

function release(path, nonce) {
  if (lockOwner(path)?.nonce !== nonce) return;
  const gone = `${path}.new-${nonce}`;
  if (renameOnto(path, gone)) rmSync(gone, { recursive: true, force: true });
}

function renameOnto(from, to) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.code)) return false;
    throw error;
  }
}

function removeOldCleared(path) {
  const dir = dirname(path);
  for (const name of readdirSync(dir)) {
    if (!name.startsWith(`${basename(path)}.`)) continue;
    const found = join(dir, name);
    try {
      if (Date.now() - statSync(found).mtimeMs > CLEARED_KEPT_MS)
        rmSync(found, { recursive: true, force: true });
    } catch {
      // another process removed it first
    }
  }
}
