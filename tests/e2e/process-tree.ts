import { readdirSync, readFileSync } from 'node:fs';

/**
 * Signals a program and all its children. Postgres has a process per connection: if only its first process is frozen, the
 * others go on serving. `SIGSTOP` starts at the root, so that it forks nothing new; `SIGCONT` reaches the root last.
 */
export function signalTree(root: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  const tree = descendants(root);
  for (const pid of signal === 'SIGSTOP' ? [root, ...tree] : [...tree, root]) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process of a connection that has just ended.
    }
  }
}

function descendants(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    const parent = Number.isInteger(pid) ? parentOf(pid) : null;
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const found: number[] = [];
  const visit = (pid: number) => {
    for (const child of children.get(pid) ?? []) {
      found.push(child);
      visit(child);
    }
  };
  visit(root);
  return found;
}

function parentOf(pid: number): number | null {
  try {
    // `pid (command, which may hold spaces and brackets) state ppid ...`
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return null;
  }
}
