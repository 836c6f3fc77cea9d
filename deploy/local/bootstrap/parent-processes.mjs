// The processes between the user and the launcher: npm, and on an old Node start.mjs, which stays as its parent. Signals
// reach the launcher through them. If one of them is killed with -9 it passes nothing on, so the launcher checks by itself
// whether they are alive.

import { identityOf, isSameProcess } from './process-identity.mjs';

const VARIABLE = 'ANGELIA_FRONT';
const LOOK_MS = 1_000;

/**
 * @typedef {{ pid: number, identity: string | null }} ParentProcess
 * @returns {ParentProcess[]} the parents of this process, outermost first
 */
export function parentsOfThis() {
  const passed = process.env[VARIABLE];
  if (passed) return [...JSON.parse(passed), named(process.ppid)];
  // A parent other than npm (a shell, a script) may end before us: `node deploy/local/start.mjs start &`.
  return process.env.npm_lifecycle_event ? [named(process.ppid)] : [];
}

/**
 * @param {ParentProcess[]} parents the parents of this process
 * @returns {Record<string, string>} environment that tells a child of this process about its parents
 */
export function environmentForChild(parents) {
  return { [VARIABLE]: JSON.stringify(parents) };
}

/** The launcher's children must not inherit its parents. */
export function forgetParents() {
  delete process.env[VARIABLE];
}

/** @param {ParentProcess[]} parents */
export function isParentGone(parents) {
  return parents.some(({ pid, identity }) => !isSameProcess(pid, identity));
}

/**
 * @param {ParentProcess[]} parents
 * @param {() => void} onGone
 */
export function watchParents(parents, onGone) {
  if (parents.length === 0) return;
  const timer = setInterval(() => {
    if (!isParentGone(parents)) return;
    clearInterval(timer);
    onGone();
  }, LOOK_MS);
  timer.unref();
}

const named = (pid) => ({ pid, identity: identityOf(pid) });
