// Which process a pid means. Pids are reused: a pid that was written to a file belongs to the process that was meant
// only as long as its start time is the same, and (after a reboot) the boot is. Nothing here is ever killed by its
// pid alone.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * @param {number} pid
 * @returns {string | null} a name for this very process, null when there is none (or only a zombie)
 */
export function identityOf(pid) {
  return process.platform === 'linux' ? linuxIdentity(pid) : psIdentity(pid);
}

/**
 * @param {number} pid
 * @param {string | null | undefined} identity what identityOf(pid) said when the process was known
 * @returns {boolean}
 */
export function isSameProcess(pid, identity) {
  return identity != null && identityOf(pid) === identity;
}

let bootId;

function linuxIdentity(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name may hold spaces and brackets; the fields go on after the last one.
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
