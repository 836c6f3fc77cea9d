import { readdirSync, readFileSync } from 'node:fs';
import { SERVICES, type Stack } from '@angelia/local';

/** The kernel's clock tick on every Linux that Node runs on (getconf CLK_TCK). */
const TICKS_PER_SECOND = 100;

/** As many as `ANGELIA_REPLICAS` allows. */
const MOST_REPLICAS = 9;

/** CPU seconds (user and system) that each program of the stack has used so far, all replicas together. */
export function cpuSeconds(stack: Stack): Record<string, number> {
  const used: Record<string, number> = {};
  for (const name of [...SERVICES, 'nats']) {
    for (let replica = 1; replica <= MOST_REPLICAS; replica++) {
      const pid = stack.pidOf(replica === 1 ? name : `${name}-${replica}`);
      if (pid !== null) used[name] = (used[name] ?? 0) + ticksOf(pid, 'own') / TICKS_PER_SECOND;
    }
  }
  const postmaster = stack.pidOf('postgres');
  if (postmaster !== null) {
    // The postmaster's child times include backends that have ended.
    const living = childrenOf(postmaster).reduce((sum, pid) => sum + ticksOf(pid, 'own'), 0);
    used.postgres = (ticksOf(postmaster, 'with reaped children') + living) / TICKS_PER_SECOND;
  }
  return used;
}

/** CPU seconds between two readings, by program. A program that restarted in between counts from its start. */
export function cpuBetween(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).map(([name, used]) => [name, used - Math.min(used, before[name] ?? 0)]),
  );
}

function ticksOf(pid: number, what: 'own' | 'with reaped children'): number {
  const fields = statOf(pid);
  const [user = 0, system = 0, reapedUser = 0, reapedSystem = 0] = fields.slice(11, 15).map(Number);
  return user + system + (what === 'own' ? 0 : reapedUser + reapedSystem);
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => Number(statOf(pid)[1]) === parent);
}

/** The fields after the program's name, which may hold any character. Empty if the process has ended. */
function statOf(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
