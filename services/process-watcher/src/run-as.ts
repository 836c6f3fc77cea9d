import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ProcessWatcherConfig, SessionId } from '@angelia/contracts';
import { StartupError } from '@angelia/service-kit';

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Whose numbers these are: above those that distributions and most directories give to people and services. */
const FIRST_UID = 200_000;
const UIDS = 50_000;
/** In containers without numbers that high: the user that owns nothing. */
const NOBODY = 65_534;

/**
 * What root must be able to do for commands that are somebody else's, by the kernel's numbers. Containers take some of it
 * away: without a word the one would then not be ended, the other not be removed.
 */
const NEEDED_CAPABILITIES = {
  CHOWN: 0, // gives a session its directory
  DAC_OVERRIDE: 1, // removes what is closed to everybody else
  FOWNER: 3, // removes what is in a sticky directory
  KILL: 5, // ends commands
  SETGID: 6,
  SETUID: 7,
} as const;
/** Sees by its environment whose a daemon is (ANGELIA_COMMAND_ID). Docker does not give it unasked: worth a warning, not a refusal. */
const WANTED_CAPABILITIES = { SYS_PTRACE: 19 } as const;

export interface RunAs {
  /** Null: the service's own user. */
  user(id: SessionId): User | null;
  /** Commands run as somebody else than the service. */
  readonly others: boolean;
}

/**
 * Who commands run as. As root each session gets a user of its own, that exists in no file: it can read neither the
 * services' data and environment nor the files of another session, and a fork bomb meets the limit of its own user.
 */
export function runAs(config: Pick<ProcessWatcherConfig, 'run_as'>): RunAs {
  const root = process.getuid?.() === 0;
  const { run_as } = config;
  if (typeof run_as === 'number') {
    if (!root && run_as !== process.getuid?.()) {
      throw new StartupError([
        `process_watcher.run_as: only root may run commands as user ${run_as}: start process-watcher as root, or use \`same\``,
      ]);
    }
    if (root) mustBeCapable();
    const user = { uid: run_as, gid: run_as };
    return root ? { user: () => user, others: true } : { user: () => null, others: false };
  }
  if (!root || run_as === 'same') return { user: () => null, others: false };
  mustBeCapable();
  if (!isMapped(FIRST_UID + UIDS - 1)) {
    const nobody = { uid: NOBODY, gid: NOBODY };
    return { user: () => nobody, others: true };
  }
  return { user: (id) => userOf(id), others: true };
}

function mustBeCapable(): void {
  const missing = missingCapabilities(statusOfThisProcess()).needed;
  if (missing.length === 0) return;
  throw new StartupError([
    `process_watcher.run_as: process-watcher is root without ${missing.join(', ')}, and cannot look after commands of other users: give the container these capabilities (docker-compose.yml has them all), or start it as another user`,
  ]);
}

/** What an operator should know of this host; null: nothing. */
export function warningOf(users: RunAs, status = statusOfThisProcess()): string | null {
  const { wanted } = missingCapabilities(status);
  if (!users.others || wanted.length === 0) return null;
  return `without the capability ${wanted.join(', ')} a daemon that left its command's process group is not found, and goes on when the command is ended: give the container this capability (docker-compose.yml has it)`;
}

/** By the line `CapEff` of /proc/self/status. Where there is none (not Linux) root can do everything. */
export function missingCapabilities(status: string): {
  readonly needed: readonly string[];
  readonly wanted: readonly string[];
} {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  if (effective === undefined) return { needed: [], wanted: [] };
  const bits = BigInt(`0x${effective}`);
  const missing = (of: Readonly<Record<string, number>>) =>
    Object.entries(of).flatMap(([name, bit]) => ((bits >> BigInt(bit)) & 1n ? [] : [name]));
  return { needed: missing(NEEDED_CAPABILITIES), wanted: missing(WANTED_CAPABILITIES) };
}

function statusOfThisProcess(): string {
  try {
    return readFileSync('/proc/self/status', 'utf8');
  } catch {
    return '';
  }
}

/** Of two sessions in 50,000 that happen to share a number each could read the other's files: none stays that long. */
function userOf(id: SessionId): User {
  const uid = FIRST_UID + (createHash('sha256').update(id).digest().readUInt32BE(0) % UIDS);
  return { uid, gid: uid };
}

/** In a user namespace only some numbers are there. */
function isMapped(uid: number): boolean {
  try {
    return readFileSync('/proc/self/uid_map', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
      .some(([first = 0, , length = 0]) => uid >= first && uid < first + length);
  } catch {
    return true; // Not Linux: no namespaces.
  }
}
