import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AngeliaError, isSessionId, type SessionId } from '@angelia/contracts';
import { usersWithProcesses } from '../supervisor/user-processes.ts';
import type { UserRange } from './user-policy.ts';

/** Which session has a user number, and where that session's files are. */
export interface Claim {
  readonly session: SessionId;
  readonly directory: string;
}

/** Thrown to the caller that starts a command. Says why there is no user for it; a later try can help. */
export class NoUserLeft extends AngeliaError {
  override readonly name = 'NoUserLeft';
  readonly code = 'no_user_left';
  readonly retryable = true;
}

/** Holds the number after the one that was given out last. */
const NEXT_FILE = 'next';

/**
 * The table of user numbers: a directory with one file per number in use, named by the number. Making that file takes the
 * number, and only one process can make it, even if two watchers or two stacks on one host try (docs/adr/0011). The file
 * is linked into place complete, so a watcher that is killed leaves a claim that names its owner, or none.
 */
export class UserNumbers {
  readonly #directory: string;

  /** @throws if the directory cannot be made or written */
  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    rmSync(this.#written('', 'writable'));
  }

  /** Null if nobody has this number, or if a power failure emptied the claim. */
  of(uid: number): Claim | null {
    try {
      const { session, directory } = JSON.parse(readFileSync(this.#file(uid), 'utf8')) as Partial<Claim>;
      if (typeof session !== 'string' || typeof directory !== 'string') return null;
      return isSessionId(session) ? { session, directory } : null;
    } catch {
      return null;
    }
  }

  /** All numbers in use. */
  taken(): number[] {
    return readdirSync(this.#directory)
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  }

  /**
   * Takes a number that nobody has and that nothing runs as. Begins after the last one that was given out, so that a number
   * that was given back is used again as late as possible.
   * @throws NoUserLeft
   */
  take(claim: Claim, { first, count }: UserRange): number {
    const inUse = new Set([...this.taken(), ...usersWithProcesses()]);
    const isReserved = reserved();
    const from = this.#next() - first;
    for (let step = 0; step < count; step += 1) {
      const uid = first + ((Math.max(0, from) + step) % count);
      if (inUse.has(uid) || isReserved(uid) || !this.takeNumber(uid, claim)) continue;
      writeFileSync(join(this.#directory, NEXT_FILE), String(uid + 1), { mode: 0o600 });
      return uid;
    }
    throw new NoUserLeft(
      `all ${count} user numbers for commands on this host are taken; they become free when the files of ended sessions are removed (process_watcher.keep_hours)`,
    );
  }

  /** False if somebody has this number. */
  takeNumber(uid: number, claim: Claim): boolean {
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

  /** For a session whose data directory was moved. */
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
      return 0; // No number was given out yet.
    }
  }
}

/** Numbers that the host's files give to people and to their containers. */
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
