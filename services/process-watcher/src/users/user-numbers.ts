import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSessionId, type SessionId } from '@angelia/contracts';
import { livingUsers } from '../supervisor/user-processes.ts';
import type { UserRange } from './user-policy.ts';

/** Which session has a user number, and where that session's files are. */
export interface Claim {
  readonly session: SessionId;
  readonly directory: string;
}

/** Thrown to whoever starts a command. Says why there is no user for it; a later try can help. */
export class NoUserLeft extends Error {
  override readonly name = 'NoUserLeft';
  readonly code = 'no_user_left';
  readonly retryable = true;
}

/** Where the numbers go on that were given out last. */
const NEXT_FILE = 'next';

/**
 * The table of user numbers: a directory with one file per number in use, named by it. Making that file is what takes
 * the number, and only one can make it, whoever else is at it: two watchers, two stacks on one host (docs/adr/0011). It is
 * linked into place whole, so that a watcher that is killed leaves a claim that says whose it is, or none.
 */
export class UserClaims {
  readonly #directory: string;

  /** @throws when the directory cannot be made or written */
  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    rmSync(this.#written('', 'writable'));
  }

  /** Null: nobody has this number, or a power failure took the claim's content. */
  of(uid: number): Claim | null {
    try {
      const { session, directory } = JSON.parse(readFileSync(this.#file(uid), 'utf8')) as Partial<Claim>;
      if (typeof session !== 'string' || typeof directory !== 'string') return null;
      return isSessionId(session) ? { session, directory } : null;
    } catch {
      return null;
    }
  }

  /** All numbers that are taken. */
  taken(): number[] {
    return readdirSync(this.#directory)
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  }

  /**
   * A number that nobody has and that nothing runs as. The one after the last that was given out, so that one that was
   * given back comes again as late as can be.
   * @throws NoUserLeft
   */
  take(claim: Claim, { first, count }: UserRange): number {
    const unfree = new Set([...this.taken(), ...livingUsers()]);
    const isReserved = reserved();
    const from = this.#next() - first;
    for (let step = 0; step < count; step += 1) {
      const uid = first + ((Math.max(0, from) + step) % count);
      if (unfree.has(uid) || isReserved(uid) || !this.takeThis(uid, claim)) continue;
      writeFileSync(join(this.#directory, NEXT_FILE), String(uid + 1), { mode: 0o600 });
      return uid;
    }
    throw new NoUserLeft(
      `all ${count} user numbers for commands on this host are taken; they become free when the files of ended sessions are removed (process_watcher.keep_hours)`,
    );
  }

  /** False: somebody has it. */
  takeThis(uid: number, claim: Claim): boolean {
    const written = this.#written(JSON.stringify(claim), claim.session);
    try {
      linkSync(written, this.#file(uid));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      rmSync(written, { force: true });
    }
  }

  /** The same session, found at another place: its data directory was moved. */
  rewrite(uid: number, claim: Claim): void {
    renameSync(this.#written(JSON.stringify(claim), claim.session), this.#file(uid));
  }

  giveBack(uid: number): void {
    rmSync(this.#file(uid), { force: true });
  }

  #file(uid: number): string {
    return join(this.#directory, String(uid));
  }

  #written(text: string, name: string): string {
    const path = join(this.#directory, `${name}.${process.pid}.new`);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  #next(): number {
    try {
      return Number(readFileSync(join(this.#directory, NEXT_FILE), 'utf8')) || 0;
    } catch {
      return 0; // Nobody was given one yet.
    }
  }
}

/** Numbers that are somebody's by the host's own files: people's, and those of their containers. */
function reserved(): (uid: number) => boolean {
  const people = new Set(linesOf('/etc/passwd').map(([, , uid]) => Number(uid)));
  const containers = linesOf('/etc/subuid').map(([, first, count]) => ({
    first: Number(first),
    end: Number(first) + Number(count),
  }));
  return (uid) => people.has(uid) || containers.some(({ first, end }) => uid >= first && uid < end);
}

function linesOf(path: string): string[][] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.split(':'));
  } catch {
    return [];
  }
}
