// Which process a pid means. Pids are reused: a pid in a file only means the original process if its start time and the boot
// are the same. We never kill a process by its pid alone.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * @param {number} pid
 * @returns {string | null} a name for this very process; null if there is none, or only a zombie
 */
export function identityOf(pid) {
  return process.platform === 'linux' ? linuxIdentity(pid) : psIdentity(pid);
}

/**
 * @param {number} pid
 * @param {string | null | undefined} identity what identityOf(pid) returned for the original process
 * @returns {boolean}
 */
export function isSameProcess(pid, identity) {
  return identity != null && identityOf(pid) === identity;
}

let bootId;

function linuxIdentity(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name may hold spaces and parentheses: the fields begin after the last parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return null;
    bootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${bootId}:${fields[19]}`;
  } catch {
    return null;
  }
}

function psIdentity(pid) {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return line === '' || line.startsWith('Z') ? null : line.slice(line.indexOf(' ')).trim();
  } catch {
    return null;
  }
}
