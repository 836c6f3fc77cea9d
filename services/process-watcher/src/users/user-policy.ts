import { readFileSync } from 'node:fs';
import { StartupError } from '@angelia/config';
import type { ProcessWatcherConfig } from '@angelia/contracts';

export interface User {
  readonly uid: number;
  readonly gid: number;
}

export interface UserRange {
  readonly first: number;
  readonly count: number;
}

/**
 * Sessions get numbers from the first range that this host has. The first one is above the numbers that distributions give
 * to people and services, and below 524288, where systemd begins to number the users of containers. A container with
 * 65,536 numbers (rootless, `userns-remap`) has the second range, where its image has no users.
 */
const RANGES: readonly UserRange[] = [
  { first: 200_000, count: 300_000 },
  { first: 20_000, count: 40_000 },
];

/**
 * The capabilities that root needs to run commands as other users, with the kernel's numbers. Containers take some away.
 * Without a check here, commands would silently not be ended, and files not be removed.
 */
const NEEDED_CAPABILITIES = {
  CHOWN: 0, // to give a session its directory
  DAC_OVERRIDE: 1, // to remove files that are closed to everybody else
  FOWNER: 3, // to remove files in a sticky directory
  KILL: 5, // to end commands
  SETGID: 6,
  SETUID: 7,
} as const;
export type UserPolicy = {
  /** True: commands run as other users than the service. */
  readonly separateUsers: boolean;
} & (
  | { readonly kind: 'service'; readonly separateUsers: false }
  /** All sessions share one user, and perhaps other programs do: what runs as it is not ours to end. */
  | { readonly kind: 'one'; readonly user: User }
  /** Each session has a user of its own from this range (session-users.ts); null if this container has no numbers. */
  | { readonly kind: 'own'; readonly range: UserRange | null }
);

/**
 * Decides which users commands run as. If the service is root, each session gets a user of its own, which exists in no
 * file: it can read neither the services' data and environment nor the files of another session, and a fork bomb meets
 * the limit of its own user.
 */
export function chooseUserPolicy(config: Pick<ProcessWatcherConfig, 'run_as'>): UserPolicy {
  const root = process.getuid?.() === 0;
  const { run_as } = config;
  if (typeof run_as === 'number') {
    if (!root && run_as !== process.getuid?.()) {
      throw new StartupError([
        `process_watcher.run_as: only root may run commands as user ${run_as}: start process-watcher as root, or use \`same\``,
      ]);
    }
    if (!root) return { kind: 'service', separateUsers: false };
    mustBeCapable();
    return { kind: 'one', user: { uid: run_as, gid: run_as }, separateUsers: true };
  }
  if (!root || run_as === 'same') return { kind: 'service', separateUsers: false };
  mustBeCapable();
  return { kind: 'own', range: rangeOf(uidMap()), separateUsers: true };
}

function mustBeCapable(): void {
  const missing = missingCapabilities(statusOfThisProcess());
  if (missing.length === 0) return;
  throw new StartupError([
    `process_watcher.run_as: process-watcher is root without ${missing.join(', ')}, and cannot manage commands of other users: give the container these capabilities (docker-compose.yml has them all), or start it as another user`,
  ]);
}

/** What an operator should know about this host; null if nothing. */
export function userPolicyWarning(policy: UserPolicy): string | null {
  if (policy.kind === 'own' && policy.range === null) {
    return 'this container has no user numbers for commands: every command is refused. Give it 65536 of them, or set process_watcher.run_as';
  }
  return null;
}

/** Reads the line `CapEff` of /proc/self/status. Without that line (not Linux) root can do everything. */
export function missingCapabilities(status: string): readonly string[] {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  if (effective === undefined) return [];
  const bits = BigInt(`0x${effective}`);
  return Object.entries(NEEDED_CAPABILITIES).flatMap(([name, bit]) =>
    (bits >> BigInt(bit)) & 1n ? [] : [name],
  );
}

function statusOfThisProcess(): string {
  try {
    return readFileSync('/proc/self/status', 'utf8');
  } catch {
    return '';
  }
}

/** The first range that a user namespace (`/proc/self/uid_map`) has completely. */
export function rangeOf(map: string): UserRange | null {
  const mapped = map
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([first = 0, , length = 0]) => ({ first, end: first + length }));
  const isMapped = ({ first, count }: UserRange): boolean =>
    mapped.some((part) => first >= part.first && first + count <= part.end);
  return RANGES.find(isMapped) ?? null;
}

function uidMap(): string {
  try {
    return readFileSync('/proc/self/uid_map', 'utf8');
  } catch {
    return '0 0 4294967295'; // Not Linux: there are no namespaces.
  }
}
