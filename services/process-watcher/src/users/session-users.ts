import { execFileSync } from 'node:child_process';
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import type { Places } from '../session-directories.ts';
import { endProcessesOf, livingUsers, processesOf, type Spared } from '../supervisor/user-processes.ts';
import { type Claim, NoUserLeft, UserClaims } from './user-numbers.ts';
import type { RunAs, User, UserRange } from './user-policy.ts';

/** One table for all stacks of a host: user numbers are the host's (docs/adr/0011). */
const TABLE_OF_HOST = '/var/lib/angelia/users';
/** Where everybody may leave files: those of a user whose number is given back are removed. */
const OPEN_DIRECTORIES = ['/tmp', '/var/tmp', '/dev/shm'];

/**
 * Which user a session's commands run as. Where each session has its own, the owner of the session's working directory
 * says who, as long as the claim in the host's table says the same. A number is given back when the session's files are
 * gone, nothing runs as it, and it owns nothing in the directories that are open to everybody.
 */
export class Users {
  readonly #runAs: RunAs;
  readonly #places: Places;
  readonly #logger: Logger;
  readonly #claims: UserClaims | null;

  constructor(options: {
    readonly runAs: RunAs;
    readonly places: Places;
    readonly logger: Logger;
    readonly table?: string;
  }) {
    this.#runAs = options.runAs;
    this.#places = options.places;
    this.#logger = options.logger;
    this.#claims = options.runAs.kind === 'own' ? this.#open(options.table ?? TABLE_OF_HOST) : null;
  }

  /**
   * Null: the service's own user.
   * @throws NoUserLeft
   */
  of(id: SessionId): User | null {
    if (this.#runAs.kind !== 'own') return this.#runAs.kind === 'one' ? this.#runAs.user : null;
    if (this.#runAs.range === null || this.#claims === null) {
      throw new NoUserLeft('this container has no user numbers for commands');
    }
    return this.#ownOf(id, this.#runAs.range, this.#claims);
  }

  #ownOf(id: SessionId, range: UserRange, claims: UserClaims): User {
    // Before the claim: one whose directory is not there is given back (`collect`), by whoever sees it.
    const directory = this.#places.makeSession(id);
    const claim: Claim = { session: id, directory };
    const owner = this.#places.ownerOf(id);
    if (isIn(range, owner) && this.#keeps(owner, claim, claims)) return userOf(owner);
    const uid = claims.take(claim, range);
    this.#places.work(id, userOf(uid));
    // Files of a user who is another session's (the user was a hash of the session's id once), or of an earlier `run_as`.
    if (owner !== null && owner !== process.getuid?.()) giveFiles(this.#places.workOf(id), owner, uid);
    return userOf(uid);
  }

  /** The session has a user of its own, and that is its own by the table: what runs as it is ours to end. */
  existing(id: SessionId): User | null {
    const owner = this.#places.ownerOf(id);
    if (owner === null || this.#claims === null) return null;
    const claim = this.#claims.of(owner);
    return claim?.session === id && claim.directory === this.#places.sessionDirectory(id)
      ? userOf(owner)
      : null;
  }

  /** At the start: claims the users of all sessions that have files here, and separates two that share one. */
  adopt(): void {
    if (this.#claims === null) return;
    for (const id of this.#places.sessions()) {
      if (this.#places.ownerOf(id) === null) continue;
      try {
        this.of(id);
      } catch (error) {
        this.#logger.error({ err: error, session_id: id }, 'a session has no user of its own');
      }
    }
  }

  /** Sessions with files here that something runs for. */
  busy(): SessionId[] {
    const { range } = this.#runAs.kind === 'own' ? this.#runAs : { range: null };
    if (this.#claims === null || range === null) return [];
    const claims = this.#claims;
    return [...livingUsers()]
      .filter((uid) => isIn(range, uid))
      .flatMap((uid) => claims.of(uid)?.session ?? [])
      .filter((id) => this.existing(id) !== null);
  }

  /** Ends what runs as the session's own user, but for what is spared. Returns how many. */
  async end(id: SessionId, spared: Spared | null = null): Promise<number> {
    const user = this.existing(id);
    if (user === null) return 0;
    const { ended, survivors } = await endProcessesOf(user.uid, spared);
    if (survivors.length > 0) {
      this.#logger.warn({ session_id: id, uid: user.uid, survivors }, 'some processes of a session live on');
    }
    return ended;
  }

  /** Gives back the numbers of sessions whose files are gone, also of data directories that are gone. */
  async collect(): Promise<void> {
    const { range } = this.#runAs.kind === 'own' ? this.#runAs : { range: null };
    for (const uid of this.#claims?.taken() ?? []) {
      // A file of another name is no claim of ours. Files of that user, perhaps root's, are nobody's to remove.
      if (range !== null && isIn(range, uid)) await this.#giveBack(uid);
    }
  }

  async #giveBack(uid: number): Promise<void> {
    const claim = this.#claims?.of(uid) ?? null;
    if (claim !== null && isThere(claim.directory)) return;
    // Only what this stack started: another one looks after its own.
    if (claim !== null && this.#places.isOurs(claim.directory)) await endProcessesOf(uid);
    if (processesOf(uid).length > 0) return;
    for (const path of leavingsOf(uid)) rmSync(path, { recursive: true, force: true });
    if (leavingsOf(uid).length > 0) return;
    // Another watcher may have given it back meanwhile, and somebody taken it.
    const now = this.#claims?.of(uid) ?? null;
    if (now?.session === claim?.session && now?.directory === claim?.directory) this.#claims?.giveBack(uid);
  }

  /** Whether the session may keep the user that owns its directory. */
  #keeps(uid: number, claim: Claim, claims: UserClaims): boolean {
    if (claims.takeThis(uid, claim)) return true;
    const known = claims.of(uid);
    if (known?.session !== claim.session) return false;
    if (known.directory === claim.directory) return true;
    if (isThere(known.directory)) return false; // A copy: both are there.
    claims.rewrite(uid, claim);
    return true;
  }

  #open(table: string): UserClaims {
    try {
      return new UserClaims(table);
    } catch (error) {
      // A container whose root is read-only: no other stack has its files and processes there.
      const own = join(this.#places.root, 'users');
      this.#logger.warn(
        { err: error },
        `${table} cannot be written: users of commands are kept in ${own}, and another stack on this host may use the same numbers`,
      );
      return new UserClaims(own);
    }
  }
}

function isIn(range: UserRange, uid: number | null): uid is number {
  return uid !== null && uid >= range.first && uid < range.first + range.count;
}

function userOf(uid: number): User {
  return { uid, gid: uid };
}

/** False only when it is known not to be: what cannot be looked at may be there. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** As root in a tree that others write to: by a program that follows no link and never looks a path up twice. */
function giveFiles(tree: string, from: number, to: number): void {
  execFileSync('chown', ['-R', '-P', '-h', `--from=${from}`, `${to}:${to}`, tree], { stdio: 'ignore' });
}

function leavingsOf(uid: number): string[] {
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
