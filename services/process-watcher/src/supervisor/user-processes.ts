import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { marksOf, signalOne, statOf } from './process-identity.ts';
import type { ProcessIdentity } from './protocol.ts';

export interface UserProcess {
  readonly pid: number;
  readonly parent: number;
  /** Memory that would be free without it, or a part of that: what it shares with others counts for each of them. */
  readonly bytes: number;
}

/** With the users that it runs as: the real one and the saved one. */
export interface LivingProcess extends UserProcess {
  readonly users: readonly number[];
}

export interface CommandTraces {
  readonly identity: ProcessIdentity | null;
  readonly mark: string;
}

/** What belongs to other commands of the session. */
export interface Spared {
  /** Their process groups, those that bear their mark, and all that these started. */
  readonly commands: readonly CommandTraces[];
  /** Whoever is older than this command was not started by it. */
  readonly olderThan: ProcessIdentity;
}

/** SIGKILL needs no consent; what is still there after this is stuck in the kernel. Generous: a fork bomb keeps all CPUs busy. */
const KILL_PATIENCE_MS = 5_000;
/** Between two looks whether what was killed is gone. */
const LOOK_MS = 10;
/** Of other programs on this host one ends between two looks now and then: three times in a row is rare. */
const LOOKS = 3;

/**
 * Kills all that its own user may signal, in one call of the kernel that nobody gets away from. It must be that user and
 * nothing else: the kernel also looks at the real user of whoever asks, and at its capabilities. With root's in either the
 * same call ends everything on the host. So the shell looks at itself first.
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
 * Who runs as this user and is not a zombie: wherever it went, since nobody without privileges can leave its user. Whoever
 * became this user by a set-user-id file counts; a service that only acts as this user for a moment (`seteuid`) does not.
 */
export function processesOf(uid: number): UserProcess[] {
  return processesOfUsers(new Set([uid]));
}

/** The same for several users, by one look at each process of the host. */
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
  // One whose first thread has ended looks like a zombie, and goes on in the others.
  return /^State:\t[ZX]/m.test(status) && threads <= 1;
}

/** Pages of files are left out: the kernel takes them back when memory is short. */
function bytesOf(status: string): number {
  return MEMORY.reduce((sum, line) => sum + Number.parseInt(line.exec(status)?.[1] ?? '0', 10), 0) * 1024;
}

/** The users that something on this host runs as. */
export function livingUsers(): Set<number> {
  return new Set(statuses().flatMap(({ status }) => (status === null ? [] : credentialsOf(status))));
}

/**
 * Ends all that runs as this user, but for what is spared. Only for a user of a session's own. Returns how many were ended
 * and who is still there.
 */
export async function endProcessesOf(
  uid: number,
  spared: Spared | null = null,
): Promise<{ readonly ended: number; readonly survivors: readonly number[] }> {
  const seen = new Set<number>();
  let hasKilledAll = false;
  for (const until = performance.now() + KILL_PATIENCE_MS; ; ) {
    const { left, fresh } = look(uid, spared, seen);
    if (left.length === 0 && (spared !== null || hasKilledAll || !mayHide(uid))) {
      return { ended: seen.size, survivors: [] };
    }
    const isTimeUp = performance.now() >= until;
    hasKilledAll = spared === null && (await killAllOf(uid));
    if (!hasKilledAll) {
      // One by one: stopped first, all of them, so that nobody is left who could start another one meanwhile.
      for (const pid of fresh) signalOne(pid, 'SIGSTOP');
      if (fresh.length > 0 && !isTimeUp) continue;
      for (const pid of left) signalOne(pid, 'SIGKILL');
    }
    if (isTimeUp) return { ended: seen.size - left.length, survivors: left };
    await pause(LOOK_MS);
  }
}

function look(uid: number, spared: Spared | null, seen: Set<number>) {
  const left = without(processesOf(uid), spared);
  const fresh = left.filter((pid) => !seen.has(pid));
  for (const pid of fresh) seen.add(pid);
  return { left, fresh };
}

/**
 * Whether somebody may be there whom `processesOf` does not see. One that starts the next one and ends, all the time, is
 * gone or a zombie before it can be looked at. So are others that end just now; but hardly each time.
 */
function mayHide(uid: number): boolean {
  return Array.from({ length: LOOKS }).every(() =>
    statuses().some(({ status }) => status === null || credentialsOf(status).includes(uid)),
  );
}

/** False: it could not be done. There is no room for one more process, or somebody whom it was to kill was faster. */
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

/** Which processes are of these commands: in their groups, with their marks, and all that these started. */
export function ownersOf<T>(
  processes: readonly UserProcess[],
  commands: readonly (readonly [command: CommandTraces, owner: T])[],
): Map<number, T> {
  const byGroup = new Map(commands.map(([{ identity }, owner]) => [identity?.pid, owner]));
  const byMark = new Map(commands.map(([{ mark }, owner]) => [mark, owner]));
  const owners = new Map<number, T>();
  for (const { pid } of processes) {
    const owner =
      byGroup.get(statOf(pid)?.group) ?? marksOf(pid).flatMap((mark) => byMark.get(mark) ?? [])[0];
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

/** Real, effective, saved, of the file system. */
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

/** Null: it ended between the list and the look. */
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
