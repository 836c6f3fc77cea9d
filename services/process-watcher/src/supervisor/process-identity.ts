import { readdirSync, readFileSync, statSync } from 'node:fs';
import { MARK_VARIABLE, type ProcessIdentity } from './protocol.ts';
import { environmentsAsOwner } from './read-as-owner.ts';

let known: string | undefined;

/** Changes with every boot of the machine. */
function bootId(): string {
  known ??= read('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown';
  return known;
}

interface Stat {
  readonly state: string;
  readonly group: number;
  readonly startTime: string;
}

/** Null if there is no such process. */
export function statOf(pid: number): Stat | null {
  const text = read(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The name in parentheses may hold anything, even `) `: the fields begin after the last parenthesis.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, , group] = fields;
  const startTime = fields[19];
  if (state === undefined || startTime === undefined) return null;
  return { state, group: Number(group), startTime };
}

export function identityOf(pid: number): ProcessIdentity {
  return { bootId: bootId(), pid, pidStartTime: statOf(pid)?.startTime ?? 'unknown' };
}

/** Whether this very process is alive. A later process with the same pid is another one (E5), and a zombie has ended. */
export function isAlive(identity: ProcessIdentity): boolean {
  if (identity.bootId !== bootId()) return false;
  const stat = statOf(identity.pid);
  return (
    stat !== null && stat.startTime === identity.pidStartTime && stat.state !== 'Z' && stat.state !== 'X'
  );
}

/** The living members of a process group, without zombies. Asks the kernel first, as reading all of /proc takes 5 ms. */
export function membersOf(group: number): number[] {
  try {
    process.kill(-group, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return [];
  }
  return pids().filter((pid) => {
    const stat = statOf(pid);
    return stat !== null && stat.group === group && stat.state !== 'Z' && stat.state !== 'X';
  });
}

/** The processes of this user that have a command's mark in their environment. Zombies have none. */
export function processesWithMark(mark: string, uid: number | undefined): number[] {
  const own = pids().filter(
    (pid) => uid === undefined || statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid,
  );
  const marks = marksOf(own);
  return own.filter((pid) => marks.get(pid)?.includes(mark));
}

/**
 * Whether this is the first process of a pid namespace below ours: bubblewrap's, which reaps what the command leaves and
 * exits when nothing is left. When it is killed, everything in the namespace dies.
 */
export function isNamespaceInit(pid: number): boolean {
  const numbers = /^NSpid:\s*(.+)$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1]?.split(/\s+/) ?? [];
  return numbers.length > 1 && numbers.at(-1) === '1';
}

/** By pid. Usually one mark or none, but a command may put anything into its environment. */
export function marksOf(pids: readonly number[]): Map<number, string[]> {
  const prefix = `${MARK_VARIABLE}=`;
  const marks = new Map<number, string[]>();
  const closed: number[] = [];
  for (const pid of pids) {
    try {
      const own = environmentOf(pid)
        .split('\0')
        .flatMap((entry) => (entry.startsWith(prefix) ? [entry.slice(prefix.length)] : []));
      marks.set(pid, own);
    } catch (error) {
      // Otherwise the process has ended.
      if ((error as NodeJS.ErrnoException).code === 'EACCES') closed.push(pid);
    }
  }
  if (closed.length > 0) for (const [pid, own] of environmentsAsOwner(closed, prefix)) marks.set(pid, own);
  return marks;
}

/**
 * During `execve`, a process shows neither arguments nor an environment. It would then seem to belong to no session, and a
 * daemon would be ended as a stray. `execve` takes less than a millisecond of CPU, but on a busy machine the process may get
 * that CPU late.
 */
function environmentOf(pid: number): string {
  for (let looks = 1, empty = 0; ; looks += 1) {
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
    if (environment !== '' || looks === EXEC_LOOKS || !hasMemory(pid)) return environment;
    // Every program has an argument. It may have become one between the two reads, so one look is not enough.
    if (read(`/proc/${pid}/cmdline`) === '') Atomics.wait(SLEEPING, 0, 0, 1);
    else if (++empty === EMPTY_LOOKS) return environment;
  }
}

const EXEC_LOOKS = 200;
const EMPTY_LOOKS = 5;
const SLEEPING = new Int32Array(new SharedArrayBuffer(4));

/** A zombie has none, nor has a thread of the kernel. */
const hasMemory = (pid: number): boolean => /^VmSize:/m.test(read(`/proc/${pid}/status`) ?? '');

function pids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

export function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // The group is gone already.
  }
}

export function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process is gone already.
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
