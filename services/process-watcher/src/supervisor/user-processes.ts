import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { pause } from '@angelia/waiting';
import { marksOf, signalOne, statOf } from './process-identity.ts';
import type { ProcessIdentity } from './protocol.ts';

export interface UserProcess {
  readonly pid: number;
  readonly parent: number;
  /** Its memory. What it shares with others counts for each of them. */
  readonly bytes: number;
}

/** With the users that it runs as: the real and the saved one. */
interface LivingProcess extends UserProcess {
  readonly users: readonly number[];
}

/** What identifies the processes of a command. */
export interface CommandTraces {
  readonly identity: ProcessIdentity | null;
  readonly mark: string;
}

/** Processes that must not be ended, because they belong to other commands of the session. */
export interface Spared {
  /** Spares their process groups, the processes with their mark, and everything that these started. */
  readonly commands: readonly CommandTraces[];
  /** Spares processes older than this command, which cannot have started them. */
  readonly olderThan: ProcessIdentity;
}

/** What survives SIGKILL for this long is stuck in the kernel. Generous, because a fork bomb keeps all CPUs busy. */
const KILL_WAIT_MS = 5_000;
/** Between two checks whether the killed processes are gone. */
const CHECK_MS = 10;
/** A process of another program may end between two looks, but rarely three times in a row. */
const CHECKS = 3;

/**
 * Kills everything that its own user may signal, in one kernel call that no process can escape. It must run as that user
 * and nothing else: the kernel also checks the caller's real user and capabilities. If either is root's, the same call
 * ends everything on the host. So the shell checks itself first.
 */
export const KILL_ALL = `
while read -r name real effective saved files; do
  case $name in
    Uid:) user="$real $effective $saved $files" ;;
    CapEff:) power=$real ;;
  esac
done < /proc/self/status
[ "$1" -gt 0 ] && [ "$user" = "$1 $1 $1 $1" ] && [ "$power" = 0000000000000000 ] || exit 1
kill -KILL -1 2>/dev/null
exit 0
`;

/**
 * The processes that run as this user, without zombies. A process cannot leave its user without privileges, so this finds
 * them all. A process that became this user by a set-user-id file counts. A service that only acts as this user for a
 * moment (`seteuid`) does not.
 */
export function processesOf(uid: number): UserProcess[] {
  return processesOfUsers(new Set([uid]));
}

/** The same for several users, with one look at each process of the host. */
export function processesOfUsers(users: ReadonlySet<number>): LivingProcess[] {
  return statuses().flatMap(({ pid, status }) => {
    if (status === null) return [];
    const [real = -1, , saved = -1] = credentialsOf(status);
    if ((!users.has(real) && !users.has(saved)) || hasEnded(status)) return [];
    const [parent = 0] = numbers(status, PARENT);
    return [{ pid, parent, users: [real, saved], bytes: bytesOf(status) }];
  });
}

function hasEnded(status: string): boolean {
  const [threads = 0] = numbers(status, THREADS);
  // A process whose first thread has ended looks like a zombie, but runs on in its other threads.
  return /^State:\t[ZX]/m.test(status) && threads <= 1;
}

/** Without pages of files, which the kernel takes back when memory is short. */
function bytesOf(status: string): number {
  return MEMORY.reduce((sum, line) => sum + Number.parseInt(line.exec(status)?.[1] ?? '0', 10), 0) * 1024;
}

/** The users that something on this host runs as. */
export function usersWithProcesses(): Set<number> {
  return new Set(statuses().flatMap(({ status }) => (status === null ? [] : credentialsOf(status))));
}

/**
 * Ends all processes of this user except the spared ones. Only for a user that one session has to itself. Returns how many
 * it ended, and which survived.
 */
export async function endProcessesOf(
  uid: number,
  spared: Spared | null = null,
): Promise<{ readonly ended: number; readonly survivors: readonly number[] }> {
  const seen = new Set<number>();
  let hasKilledAll = false;
  for (const until = performance.now() + KILL_WAIT_MS; ; ) {
    const { left, fresh } = listProcesses(uid, spared, seen);
    if (left.length === 0 && (spared !== null || hasKilledAll || !mayHide(uid))) {
      return { ended: seen.size, survivors: [] };
    }
    const isTimeUp = performance.now() >= until;
    hasKilledAll = spared === null && (await killAllOf(uid));
    if (!hasKilledAll) {
      // One by one. Stop all of them first, so that none can start another one meanwhile.
      for (const pid of fresh) signalOne(pid, 'SIGSTOP');
      if (fresh.length > 0 && !isTimeUp) continue;
      for (const pid of left) signalOne(pid, 'SIGKILL');
    }
    if (isTimeUp) return { ended: seen.size - left.length, survivors: left };
    await pause(CHECK_MS);
  }
}

function listProcesses(uid: number, spared: Spared | null, seen: Set<number>) {
  const left = without(processesOf(uid), spared);
  const fresh = left.filter((pid) => !seen.has(pid));
  for (const pid of fresh) seen.add(pid);
  return { left, fresh };
}

/**
 * Whether there may be a process that `processesOf` does not see. One that keeps starting its successor and ending is gone,
 * or a zombie, before we can look at it. So is any other process that ends just now, but hardly every time.
 */
function mayHide(uid: number): boolean {
  return Array.from({ length: CHECKS }).every(() =>
    statuses().some(({ status }) => status === null || credentialsOf(status).includes(uid)),
  );
}

/** False if it failed: there is no room for one more process, or a process that it was to kill was faster. */
function killAllOf(uid: number): Promise<boolean> {
  return new Promise((resolve) => {
    const shell = spawn('/bin/sh', ['-c', KILL_ALL, 'angelia', String(uid)], {
      uid,
      gid: uid,
      cwd: '/',
      env: {},
      stdio: 'ignore',
    });
    shell.once('error', () => resolve(false));
    shell.once('exit', (code) => resolve(code === 0));
  });
}

function without(processes: readonly UserProcess[], spared: Spared | null): number[] {
  const pids = processes.map(({ pid }) => pid);
  if (spared === null) return pids;
  const theirs = ownersOf(
    processes,
    spared.commands.map((command) => [command, command] as const),
  );
  const since = Number(spared.olderThan.pidStartTime);
  return pids.filter((pid) => !theirs.has(pid) && Number(statOf(pid)?.startTime) >= since);
}

/** Which processes belong to these commands: those in their groups, those with their marks, and all that these started. */
export function ownersOf<T>(
  processes: readonly UserProcess[],
  commands: readonly (readonly [command: CommandTraces, owner: T])[],
): Map<number, T> {
  const byGroup = new Map(commands.map(([{ identity }, owner]) => [identity?.pid, owner]));
  const byMark = new Map(commands.map(([{ mark }, owner]) => [mark, owner]));
  const owners = new Map<number, T>();
  const others: number[] = [];
  for (const { pid } of processes) {
    const owner = byGroup.get(statOf(pid)?.group);
    if (owner === undefined) others.push(pid);
    else owners.set(pid, owner);
  }
  for (const [pid, marks] of marksOf(others)) {
    const owner = marks.flatMap((mark) => byMark.get(mark) ?? [])[0];
    if (owner !== undefined) owners.set(pid, owner);
  }
  for (let size = -1; size !== owners.size; ) {
    size = owners.size;
    for (const { pid, parent } of processes) {
      const owner = owners.get(parent);
      if (owner !== undefined && !owners.has(pid)) owners.set(pid, owner);
    }
  }
  return owners;
}

/** The real, effective, saved and file-system user. */
function credentialsOf(status: string): number[] {
  return numbers(status, USERS);
}

/** Lines of /proc/<pid>/status. */
const USERS = /^Uid:\t(.*)$/m;
const PARENT = /^PPid:\t(.*)$/m;
const THREADS = /^Threads:\t(.*)$/m;
const MEMORY = [/^RssAnon:\s*(\d+) kB$/m, /^RssShmem:\s*(\d+) kB$/m, /^VmSwap:\s*(\d+) kB$/m];

function numbers(status: string, line: RegExp): number[] {
  return (line.exec(status)?.[1] ?? '').split('\t').filter(Boolean).map(Number);
}

/** A status is null if the process ended between the listing and the read. */
function statuses(): { readonly pid: number; readonly status: string | null }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), status: statusOf(name) }));
}

function statusOf(pid: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return null;
  }
}
