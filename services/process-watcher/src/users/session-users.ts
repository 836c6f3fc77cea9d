import { execFileSync } from 'node:child_process';
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import type { SessionDirectories } from '../session-directories.ts';
import {
  endProcessesOf,
  processesOf,
  type Spared,
  usersWithProcesses,
} from '../supervisor/user-processes.ts';
import { SharedDirectories } from './shared-directories.ts';
import { type Claim, NoUserLeft, UserNumbers } from './user-numbers.ts';
import type { User, UserPolicy, UserRange } from './user-policy.ts';

/** All stacks of a host share one table, because user numbers are the host's (docs/adr/0011). */
const TABLE_OF_HOST = '/var/lib/angelia/users';
/** Everybody may leave files here. Those of a user whose number is given back are removed. */
const OPEN_DIRECTORIES = ['/tmp', '/var/tmp', '/dev/shm'];

/**
 * Which user a session's commands run as. If each session has its own (a continuation: that of its conversation), it is the owner of the session's working
 * directory, provided that the host's table of user numbers says the same. A number is given back when the session's
 * files are gone, nothing runs as it, and it owns nothing in the directories that are open to everybody.
 */
export class SessionUsers {
  readonly #policy: UserPolicy;
  readonly #directories: SessionDirectories;
  readonly #logger: Logger;
  readonly #claims: UserNumbers | null;
  readonly shared: SharedDirectories;

  constructor(options: {
    readonly userPolicy: UserPolicy;
    readonly directories: SessionDirectories;
    readonly logger: Logger;
    readonly table?: string;
  }) {
    this.#policy = options.userPolicy;
    this.#directories = options.directories;
    this.#logger = options.logger;
    this.#claims = options.userPolicy.kind === 'own' ? this.#open(options.table ?? TABLE_OF_HOST) : null;
    this.shared = new SharedDirectories(options.userPolicy, this.#claims);
  }

  /**
   * Null means the service's own user.
   * @throws NoUserLeft
   */
  of(id: SessionId): User | null {
    if (this.#policy.kind !== 'own') return this.#policy.kind === 'one' ? this.#policy.user : null;
    if (this.#policy.range === null || this.#claims === null) {
      throw new NoUserLeft('this container has no user numbers for commands');
    }
    return this.#ownOf(id, this.#policy.range, this.#claims);
  }

  #ownOf(id: SessionId, range: UserRange, claims: UserNumbers): User {
    // Make the directory before the claim: any watcher gives back a number whose directory is missing (`collect`).
    const directory = this.#directories.makeSessionDirectory(id);
    const claim: Claim = { session: this.#directories.placeOf(id), directory };
    const owner = this.#directories.ownerOf(id);
    if (isIn(range, owner) && this.#keeps(owner, claim, claims)) return userOf(owner);
    const uid = claims.take(claim, range);
    this.#directories.makeWorkDirectory(id, userOf(uid));
    // The files belong to another session's user (the number was once a hash of the session's id), or to an earlier `run_as`.
    if (owner !== null && owner !== process.getuid?.())
      giveFiles(this.#directories.workDirectory(id), owner, uid);
    return userOf(uid);
  }

  /** The session's own user, confirmed by the table; null if there is none. What runs as this user is ours to end. */
  existing(id: SessionId): User | null {
    const owner = this.#directories.ownerOf(id);
    if (owner === null || this.#claims === null) return null;
    const claim = this.#claims.of(owner);
    return claim?.session === this.#directories.placeOf(id) &&
      claim.directory === this.#directories.sessionDirectory(id)
      ? userOf(owner)
      : null;
  }

  /** At the start: claims the users of all sessions with files here, and separates two sessions that share one. */
  adopt(): void {
    if (this.#claims === null) return;
    for (const id of this.#directories.sessions()) {
      if (this.#directories.ownerOf(id) === null) continue;
      try {
        this.of(id);
      } catch (error) {
        this.#logger.error({ err: error, session_id: id }, 'a session has no user of its own');
      }
    }
  }

  /** Sessions with files here whose user has processes; of a conversation, the first one. */
  busy(): SessionId[] {
    const { range } = this.#policy.kind === 'own' ? this.#policy : { range: null };
    if (this.#claims === null || range === null) return [];
    const claims = this.#claims;
    return [...usersWithProcesses()]
      .filter((uid) => isIn(range, uid))
      .flatMap((uid) => claims.of(uid)?.session ?? [])
      .filter((id) => this.existing(id) !== null);
  }

  /** Ends the processes of the session's own user, except the spared ones. Returns how many. */
  async end(id: SessionId, spared: Spared | null = null): Promise<number> {
    const user = this.existing(id);
    if (user === null) return 0;
    const { ended, survivors } = await endProcessesOf(user.uid, spared);
    if (survivors.length > 0) {
      this.#logger.warn({ session_id: id, uid: user.uid, survivors }, 'some processes of a session survived');
    }
    return ended;
  }

  /** Gives back the numbers of sessions whose files or data directories are gone. */
  async collect(): Promise<void> {
    const { range } = this.#policy.kind === 'own' ? this.#policy : { range: null };
    for (const uid of this.#claims?.taken() ?? []) {
      // A number outside the range is not a claim of ours, and we must not remove that user's files: it may be root.
      if (range !== null && isIn(range, uid)) await this.#giveBack(uid);
    }
  }

  async #giveBack(uid: number): Promise<void> {
    const claim = this.#claims?.of(uid) ?? null;
    if (claim !== null && exists(claim.directory)) return;
    // Only end what this stack started: another stack looks after its own.
    if (claim !== null && this.#directories.isOurs(claim.directory)) await endProcessesOf(uid);
    if (processesOf(uid).length > 0) return;
    for (const path of filesLeftBy(uid)) rmSync(path, { recursive: true, force: true });
    if (filesLeftBy(uid).length > 0) return;
    // Meanwhile another watcher may have given the number back, and somebody may have taken it.
    const now = this.#claims?.of(uid) ?? null;
    if (now?.session === claim?.session && now?.directory === claim?.directory) this.#claims?.giveBack(uid);
  }

  /** Whether the session may keep the user that owns its directory. */
  #keeps(uid: number, claim: Claim, claims: UserNumbers): boolean {
    if (claims.takeNumber(uid, claim)) return true;
    const known = claims.of(uid);
    if (known?.session !== claim.session) return false;
    if (known.directory === claim.directory) return true;
    if (exists(known.directory)) return false; // The data directory was copied: both exist.
    claims.rewrite(uid, claim);
    return true;
  }

  #open(table: string): UserNumbers {
    try {
      return new UserNumbers(table);
    } catch (error) {
      // In a container with a read-only root, which no other stack shares.
      const own = join(this.#directories.root, 'users');
      this.#logger.warn(
        { err: error },
        `${table} cannot be written: users of commands are kept in ${own}, and another stack on this host may use the same numbers`,
      );
      return new UserNumbers(own);
    }
  }
}

function isIn(range: UserRange, uid: number | null): uid is number {
  return uid !== null && uid >= range.first && uid < range.first + range.count;
}

function userOf(uid: number): User {
  return { uid, gid: uid };
}

/** False only if the path is known to be missing: what we may not look at may exist. */
function exists(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** Uses `chown`, which follows no link and looks up no path twice: we are root in a tree that others write to. */
function giveFiles(tree: string, from: number, to: number): void {
  execFileSync('chown', ['-R', '-P', '-h', `--from=${from}`, `${to}:${to}`, tree], { stdio: 'ignore' });
}

function filesLeftBy(uid: number): string[] {
  return OPEN_DIRECTORIES.flatMap((directory) =>
    list(directory)
      .map((name) => join(directory, name))
      .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.uid === uid),
  );
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
