import { readFile } from 'node:fs/promises';
import { type CommandTraces, ownersOf, processesOfUsers, type UserProcess } from './user-processes.ts';

/** The commands of one session that go on, and how much memory they may have together. */
export interface LimitedSession {
  readonly id: string;
  readonly limitBytes: number;
  /** Whatever runs as this user is the session's; null: it has none of its own. */
  readonly ownUser: number | null;
  readonly user: number | undefined;
  readonly commands: readonly CommandTraces[];
}

/** What a command takes between two looks is seen too late: some 300 MB per CPU (1 GB in 0.8 s of CPU). */
const LOOK_MS = 250;
/**
 * A look reads all of /proc: 2 to 6 ms of CPU for 200 processes. On a host with thousands it comes less often, so that it
 * takes a twentieth of a CPU at most; but often enough to be a limit.
 */
const LOOK_SHARE = 20;
const LOOK_AT_MOST_MS = 1_000;
/** To count shared memory once. Whoever has so much of it that this is not enough is judged by the sum. */
const EXACT_MS = 500;

/**
 * Looks how much memory the processes of each session have together, daemons included. Polling, and not a control group:
 * that needs a cgroup v2 that was delegated to us, which most containers do not have (docs/adr/0012).
 */
export class SessionMemory {
  readonly #sessions: () => readonly LimitedSession[];
  readonly #onOver: (session: LimitedSession) => void;
  #isWatching = false;

  /** `onOver`: for each session that has more than it may, at each look. */
  constructor(sessions: () => readonly LimitedSession[], onOver: (session: LimitedSession) => void) {
    this.#sessions = sessions;
    this.#onOver = onOver;
  }

  /** From now on, as long as there is a session to look at. */
  watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#lookIn(LOOK_MS);
  }

  #lookIn(ms: number): void {
    setTimeout(() => void this.#look(), ms);
  }

  async #look(): Promise<void> {
    const sessions = this.#sessions();
    this.#isWatching = sessions.length > 0;
    if (!this.#isWatching) return;
    const began = performance.now();
    let tookMs = 0;
    try {
      const over = sessionsOver(sessions);
      // Up to here, as what follows is not done for all.
      tookMs = performance.now() - began;
      for (const session of await over) this.#onOver(session);
    } catch {
      // No descriptor is left to read /proc with: looked at again.
    }
    this.#lookIn(Math.max(LOOK_MS, Math.min(LOOK_SHARE * tookMs, LOOK_AT_MOST_MS)));
  }
}

/** Those that have more memory than they may, as of now. */
export async function sessionsOver(sessions: readonly LimitedSession[]): Promise<LimitedSession[]> {
  const judged = withProcesses(sessions).map(async ([session, processes]) =>
    (await hasMoreThan(session.limitBytes, processes)) ? [session] : [],
  );
  return (await Promise.all(judged)).flat();
}

/** Those of a session, as of now. */
export function pidsOf(session: LimitedSession): number[] {
  return withProcesses([session]).flatMap(([, processes]) => processes.map(({ pid }) => pid));
}

/** By one look at each process of the host, however many sessions there are. */
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
 * First by the sum, which costs nothing more, and counts memory that a process shares with its children (a fork) for each
 * of them. Only when that is too much each page is counted once: 9 ms for a process of 512 MB.
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

/** Of the memory of a process its share: each page divided by the number of those that have it. */
async function shareOf(pid: number, otherwise: number): Promise<number> {
  try {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
    const parts = SHARES.map((line) => line.exec(rollup)?.[1]);
    if (parts.includes(undefined)) return otherwise;
    return parts.reduce((sum, part) => sum + Number(part), 0) * 1024;
  } catch (error) {
    // It has ended. Else it may not be read (no SYS_PTRACE): rather too much than nothing.
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ESRCH' ? 0 : otherwise;
  }
}

const SHARES = [/^Pss_Anon:\s*(\d+) kB$/m, /^Pss_Shmem:\s*(\d+) kB$/m, /^SwapPss:\s*(\d+) kB$/m];
