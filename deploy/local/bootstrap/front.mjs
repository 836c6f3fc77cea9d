// The processes in front of the launcher: npm, and on an old Node the thin shell that start.mjs stays. A signal
// reaches the launcher through them. When one of them is killed with -9 nothing is passed on, so the launcher looks
// for itself whether they are still there.

import { identityOf, isSameProcess } from './process-identity.mjs';

const FRONT = 'ANGELIA_FRONT';
const LOOK_EVERY_MS = 500;

/**
 * @typedef {{ pid: number, identity: string | null }} FrontProcess
 * @returns {FrontProcess[]} those in front of this process, outermost first
 */
export function frontOfThis() {
  const passed = process.env[FRONT];
  if (passed) return [...JSON.parse(passed), named(process.ppid)];
  // A parent that is not npm (a shell, a script) may well end before us: `node deploy/local/start.mjs start &`.
  return process.env.npm_lifecycle_event ? [named(process.ppid)] : [];
}

/**
 * @param {FrontProcess[]} front of this process
 * @returns {Record<string, string>} environment for a child that this process stands in front of
 */
export function asFrontOfChild(front) {
  return { [FRONT]: JSON.stringify(front) };
}

/** Children of the launcher must not take its front for their own. */
export function forgetFront() {
  delete process.env[FRONT];
}

/** @param {FrontProcess[]} front */
export function isFrontGone(front) {
  return front.some(({ pid, identity }) => !isSameProcess(pid, identity));
}

/**
 * @param {FrontProcess[]} front
 * @param {() => void} onGone
 */
export function watchFront(front, onGone) {
  if (front.length === 0) return;
  const timer = setInterval(() => {
    if (!isFrontGone(front)) return;
    clearInterval(timer);
    onGone();
  }, LOOK_EVERY_MS);
  timer.unref();
}

const named = (pid) => ({ pid, identity: identityOf(pid) });
