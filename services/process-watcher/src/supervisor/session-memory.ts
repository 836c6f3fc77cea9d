import { readFile } from 'node:fs/promises';
import { fileAsOwner } from './read-as-owner.ts';
import { type CommandTraces, ownersOf, processesOfUsers, type UserProcess } from './user-processes.ts';

/** The running commands of one session, and how much memory they may use together. */
export interface LimitedSession {
  readonly id: string;
  readonly limitBytes: number;
  /** Everything that runs as this user is the session's; null if the session has no user of its own. */
  readonly ownUser: number | null;
  readonly user: number | undefined;
  readonly commands: readonly CommandTraces[];
}

/** What a command allocates between two looks is seen too late: some 300 MB per CPU (1 GB in 0.8 s of CPU). */
const CHECK_MS = 250;
/**
 * A check reads all of /proc: 2 to 6 ms of CPU for 200 processes. On a host with thousands of processes the checks are rarer,
 * so that they take at most a twentieth of a CPU, but still frequent enough to enforce a limit.
 */
const CHECK_SHARE = 20;
const CHECK_AT_MOST_MS = 1_000;
/** Time for the exact count, which counts shared memory once. What is not counted by then enters with its full size. */
const EXACT_MS = 500;

/**
 * Watches how much memory the processes of each session use together, daemons included. It polls, because a control group
 * would need a cgroup v2 that was delegated to us, which most containers do not have (docs/adr/0012).
 */
export class SessionMemory {
  readonly #sessions: () => readonly LimitedSession[];
  readonly #onOver: (session: LimitedSession) => void;
  #isWatching = false;

  /** `onOver` is called at each check, for each session that uses more than it may. */
  constructor(sessions: () => readonly LimitedSession[], onOver: (session: LimitedSession) => void) {
    this.#sessions = sessions;
    this.#onOver = onOver;
  }

  /** Polls from now on, as long as there is a session to look at. */
  watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#checkIn(CHECK_MS);
  }

  #checkIn(ms: number): void {
    setTimeout(() => void this.#check(), ms);
  }

  async #check(): Promise<void> {
    const sessions = this.#sessions();
    this.#isWatching = sessions.length > 0;
    if (!this.#isWatching) return;
    const began = performance.now();
    let tookMs = 0;
    try {
      const over = sessionsOver(sessions);
      // Measured up to here: what follows concerns few sessions.
      tookMs = performance.now() - began;
      for (const session of await over) this.#onOver(session);
    } catch {
      // No file descriptor is left to read /proc with. The next check tries again.
    }
    this.#checkIn(Math.max(CHECK_MS, Math.min(CHECK_SHARE * tookMs, CHECK_AT_MOST_MS)));
  }
}

/** The sessions that use more memory than they may now. */
export async function sessionsOver(sessions: readonly LimitedSession[]): Promise<LimitedSession[]> {
  const judged = withProcesses(sessions).map(async ([session, processes]) =>
    (await hasMoreThan(session.limitBytes, processes)) ? [session] : [],
  );
  return (await Promise.all(judged)).flat();
}

/** The processes of a session now. */
export function pidsOf(session: LimitedSession): number[] {
  return withProcesses([session]).flatMap(([, processes]) => processes.map(({ pid }) => pid));
}

/** Looks at each process of the host once, however many sessions there are. */
function withProcesses(sessions: readonly LimitedSession[]): (readonly [LimitedSession, UserProcess[]])[] {
  const found = new Map(sessions.map((session) => [session, [] as UserProcess[]]));
  const ownUsers = new Map(sessions.map((session) => [session.ownUser, session]));
  const others = sessions.filter(({ ownUser }) => ownUser === null);
  const users = new Set(sessions.flatMap(({ ownUser, user }) => ownUser ?? user ?? []));
  const shared: UserProcess[] = [];
  for (const process of processesOfUsers(users)) {
    const owner = process.users.flatMap((user) => ownUsers.get(user) ?? [])[0];
    if (owner !== undefined) found.get(owner)?.push(process);
    else shared.push(process);
  }
  const owners = ownersOf(
    shared,
    others.flatMap((session) => session.commands.map((command) => [command, session] as const)),
  );
  for (const process of shared) {
    const owner = owners.get(process.pid);
    if (owner !== undefined) found.get(owner)?.push(process);
  }
  return [...found];
}

/**
 * Takes the sum first, which costs nothing more but counts memory that a process shares with its children (a fork) for
 * each of them. Only if that is too much, it counts each page once: 9 ms for a process of 512 MB.
 */
async function hasMoreThan(limitBytes: number, processes: readonly UserProcess[]): Promise<boolean> {
  if (processes.reduce((sum, { bytes }) => sum + bytes, 0) <= limitBytes) return false;
  const until = performance.now() + EXACT_MS;
  let used = 0;
  for (const { pid, bytes } of processes) {
    used += performance.now() < until ? await shareOf(pid, bytes) : bytes;
    if (used > limitBytes) return true;
  }
  return false;
}

/** A process's share of its memory: each page is divided by the number of processes that share it. */
async function shareOf(pid: number, otherwise: number): Promise<number> {
  try {
    const rollup = await readRollup(pid);
    const parts = SHARES.map((line) => line.exec(rollup)?.[1]);
    if (parts.includes(undefined)) return otherwise;
    return parts.reduce((sum, part) => sum + Number(part), 0) * 1024;
  } catch (error) {
    // Either the process has ended, or we cannot read this: then count too much rather than nothing.
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ESRCH' ? 0 : otherwise;
  }
}

async function readRollup(pid: number): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    return fileAsOwner(pid, 'smaps_rollup');
  }
}

const SHARES = [/^Pss_Anon:\s*(\d+) kB$/m, /^Pss_Shmem:\s*(\d+) kB$/m, /^SwapPss:\s*(\d+) kB$/m];
