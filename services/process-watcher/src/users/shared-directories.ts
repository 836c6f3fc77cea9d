import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chownSync, mkdirSync, type Stats, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { AngeliaError, sessionId } from '@angelia/contracts';
import type { Claim, UserNumbers } from './user-numbers.ts';
import type { User, UserPolicy } from './user-policy.ts';

/** Thrown to the caller that starts a command. Says what the operator should change. */
export class SharedDirectoryUnusable extends AngeliaError {
  override readonly name = 'SharedDirectoryUnusable';
  readonly code = 'shared_directory_unusable';
  readonly retryable = false;
}

/** Everybody of the group may do everything, and what is made in the directory belongs to the group as well. */
const SHARED_MODE = '2770';
const GROUP_MAY_ALL = 0o070;
/** For a tree of some 100,000 files. */
const OPEN_MS = 60_000;

/**
 * The `shared_dirs` of an agent, which its sessions use together although each has a user of its own: the directory has a
 * group, and the commands of the agent have this group besides their own. If we make the directory, the number of the
 * group comes from the table of user numbers, so that no session has it.
 */
export class SharedDirectories {
  readonly #policy: UserPolicy;
  readonly #numbers: UserNumbers | null;

  constructor(policy: UserPolicy, numbers: UserNumbers | null) {
    this.#policy = policy;
    this.#numbers = numbers;
  }

  /**
   * Makes the directory if it is missing. Returns the group that a command needs; null if all commands have one user.
   * @throws SharedDirectoryUnusable
   */
  groupOf(path: string): number | null {
    const policy = this.#policy;
    if (policy.kind !== 'own') {
      const made = mkdirSync(path, { recursive: true, mode: 0o700 });
      if (made !== undefined && policy.kind === 'one') chownSync(path, policy.user.uid, policy.user.gid);
      return null;
    }
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return this.#make(path);
    if (this.#isOurNumber(found.gid)) return this.#keepOrReplace(path, found);
    if (found.isDirectory() && found.gid !== 0 && (found.mode & GROUP_MAY_ALL) === GROUP_MAY_ALL) {
      return found.gid;
    }
    throw new SharedDirectoryUnusable(
      `shared_dirs: ${path} is not a directory of a group that may write to it. Give it to a group of its own (chgrp GROUP ${path} && chmod 2770 ${path}), or remove it: then process-watcher makes it`,
    );
  }

  #make(path: string): number {
    mkdirSync(path, { recursive: true, mode: 0o755 });
    return this.#give(path, 0);
  }

  /** The directory may be a copy, or the table may be new. */
  #keepOrReplace(path: string, { gid }: Stats): number {
    const known = this.#claims.of(gid);
    if (known?.directory === path || this.#claims.takeNumber(gid, claimOf(path))) return gid;
    return this.#give(path, gid);
  }

  #give(path: string, from: number): number {
    const { range } = this.#policy as Extract<UserPolicy, { kind: 'own' }>;
    if (range === null) {
      throw new SharedDirectoryUnusable('shared_dirs: this container has no user numbers for commands');
    }
    const gid = this.#claims.take(claimOf(path), range);
    chownSync(path, 0, gid);
    // As a member of the group: otherwise the kernel drops the bit that hands the group on, unless root has FSETID.
    execFileSync('chmod', [SHARED_MODE, path], { uid: 0, gid, stdio: 'ignore' });
    // Uses `chown`, which follows no link: we are root in a tree that others write to.
    if (from !== 0) {
      execFileSync('chown', ['-R', '-P', '-h', `--from=:${from}`, `:${gid}`, path], { stdio: 'ignore' });
    }
    return gid;
  }

  get #claims(): UserNumbers {
    if (this.#numbers === null) throw new Error('sessions have no users of their own here');
    return this.#numbers;
  }

  #isOurNumber(gid: number): boolean {
    const { range } = this.#policy as Extract<UserPolicy, { kind: 'own' }>;
    return range !== null && gid >= range.first && gid < range.first + range.count;
  }
}

/** In the table a shared directory looks like a session's: its number is given back when the directory is gone. */
function claimOf(path: string): Claim {
  const digest = createHash('sha256').update(path).digest('hex');
  // A uuid of version 8, which is for such uses. Sessions have version 7.
  const parts = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `8${digest.slice(17, 20)}`,
  ];
  return { session: sessionId([...parts, digest.slice(20, 32)].join('-')), directory: path };
}

/**
 * Opens to the group what a command has made in a shared directory and closed to all but its own user: programs keep
 * logins and histories that way (0600). It runs as that user, who can change nothing but its own files.
 */
export async function openToGroup(path: string, user: User, gid: number): Promise<void> {
  const own = ['-user', String(user.uid)];
  const args = [
    ...[
      path,
      '-xdev',
      '(',
      '-type',
      'd',
      ...own,
      '!',
      '-perm',
      '-070',
      '-exec',
      'chmod',
      'g+rwx',
      '{}',
      '+',
      ')',
    ],
    ...['-o', '(', '-type', 'f', ...own, '!', '-perm', '-060', '-exec', 'chmod', 'g+rwX', '{}', '+', ')'],
  ];
  await promisify(execFile)('find', args, { uid: user.uid, gid, cwd: '/', timeout: OPEN_MS });
}
