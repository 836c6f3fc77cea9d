import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { StartupError } from '@angelia/config';
import { isSessionId, type SessionId } from '@angelia/contracts';
import type { User } from './users/user-policy.ts';

/**
 * Where things are under `$ANGELIA_DATA/processes`:
 *
 *   <session>/work/            the session's working directory: the only place that is its commands' own
 *   <session>/<command>/       what the supervisor writes about one command (supervisor/protocol.ts); ours alone
 *   running/<session>~<name>   a call in hand, or a command whose end is not in the log yet: what to look after when we
 *                              start again
 *   supervisors/<instance>/    the supervisor's socket; ours alone
 *
 * Commands may pass through these directories and list none of them. Where the data directory itself is closed to
 * other users (`mktemp -d`), the working directories are in the system's directory for temporary files instead.
 */
export class Places {
  readonly root: string;
  readonly #work: string;

  constructor(dataDirectory: string, users: { readonly others: boolean }) {
    this.root = join(resolve(dataDirectory), 'processes');
    try {
      for (const dir of [this.root, this.#running, join(this.root, 'supervisors')]) {
        mkdirSync(dir, { recursive: true });
      }
    } catch (error) {
      throw new StartupError([
        `${(error as Error).message}: set ANGELIA_DATA to a directory that may be written`,
      ]);
    }
    chmodSync(this.root, 0o711);
    chmodSync(this.#running, 0o700);
    chmodSync(join(this.root, 'supervisors'), 0o700);
    this.#work = !users.others || isOpenToAll(this.root) ? this.root : elsewhere(this.root);
  }

  /** Undefined: the sessions' files are under the root. */
  get workElsewhere(): string | undefined {
    return this.#work === this.root ? undefined : this.#work;
  }

  supervisor(instance: string): string {
    const dir = join(this.root, 'supervisors', instance);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    return dir;
  }

  /** The session's working directory, made if need be. */
  work(id: SessionId, user: User | null): string {
    this.makeSession(id);
    const work = this.workOf(id);
    mkdirSync(work, { recursive: true, mode: 0o700 });
    if (user !== null && statSync(work).uid !== user.uid) chownSync(work, user.uid, user.gid);
    return work;
  }

  workOf(id: SessionId): string {
    return join(this.sessionDirectory(id), 'work');
  }

  /** Where the session's working directory is. */
  sessionDirectory(id: SessionId): string {
    return join(this.#work, id);
  }

  makeSession(id: SessionId): string {
    const session = this.sessionDirectory(id);
    if (this.#work !== this.root) mkdirSync(elsewhere(this.root), { recursive: true, mode: 0o711 });
    mkdirSync(session, { recursive: true });
    chmodSync(session, 0o711);
    return session;
  }

  /** Who has the session's working directory, which its commands cannot replace; null: there is none. */
  ownerOf(id: SessionId): number | null {
    return statSync(this.workOf(id), { throwIfNoEntry: false })?.uid ?? null;
  }

  /** Whether a session with this directory is of this stack. */
  isOurs(sessionDirectory: string): boolean {
    return dirname(sessionDirectory) === this.#work;
  }

  /** The commands of a session that have files here. */
  commandsOf(id: SessionId): string[] {
    return list(join(this.root, id)).filter((name) => /^(call|proc)_/.test(name));
  }

  /** Where a command's files are; `name` as in `foregroundName` or the id of a process. */
  command(id: SessionId, name: string): string {
    return join(this.root, id, name);
  }

  /** Makes it, and notes that there is something to look after. */
  prepare(id: SessionId, name: string): string {
    const dir = this.command(id, name);
    mkdirSync(dirname(dir), { recursive: true });
    chmodSync(dirname(dir), 0o711);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.#running, `${id}~${name}`), '', { mode: 0o600 });
    return dir;
  }

  /** Notes that a call is in hand, before its hint is acked: whoever starts after us looks at it at once. */
  takeUp(id: SessionId, callId: string): void {
    writeFileSync(join(this.#running, `${id}~${takenName(callId)}`), '', { mode: 0o600 });
  }

  putDown(id: SessionId, callId: string): void {
    this.settled(id, takenName(callId));
  }

  /** Its end is in the log. Of a background process the output stays for whoever asks for it. */
  settled(id: SessionId, name: string): void {
    rmSync(join(this.#running, `${id}~${name}`), { force: true });
  }

  forget(id: SessionId, name: string): void {
    rmSync(this.command(id, name), { recursive: true, force: true });
    this.settled(id, name);
  }

  unsettled(): { readonly sessionId: SessionId; readonly name: string }[] {
    return readdirSync(this.#running).flatMap((entry) => {
      const cut = entry.indexOf('~');
      const id = entry.slice(0, cut);
      return cut > 0 && isSessionId(id) ? [{ sessionId: id, name: entry.slice(cut + 1) }] : [];
    });
  }

  /** Sessions that have files here. */
  sessions(): SessionId[] {
    const names = new Set([...list(this.root), ...list(this.#work)]);
    return [...names].filter((name) => isSessionId(name));
  }

  changedAt(id: SessionId): number {
    try {
      return statSync(join(this.root, id)).mtimeMs;
    } catch {
      return 0;
    }
  }

  forgetSession(id: SessionId): void {
    for (const command of this.unsettled()) if (command.sessionId === id) this.settled(id, command.name);
    rmSync(join(this.root, id), { recursive: true, force: true });
    rmSync(join(this.#work, id), { recursive: true, force: true });
  }

  get #running(): string {
    return join(this.root, 'running');
  }
}

/** The name of a foreground command's directory: call ids come from models and may hold anything. */
export function foregroundName(callId: string): string {
  return `call_${digest(callId)}`;
}

export function takenName(callId: string): string {
  return `taken_${digest(callId)}`;
}

/** Derived, so that the same call never becomes two processes, whatever dies in between. */
export function processIdOf(id: SessionId, callId: string): string {
  return `proc_${digest(`${id} ${callId}`)}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function list(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function isOpenToAll(path: string): boolean {
  for (let dir = path; ; dir = dirname(dir)) {
    if ((statSync(dir).mode & 0o001) === 0) return false;
    if (dir === dirname(dir)) return true;
  }
}

/**
 * Always the same for the same data directory: a session's files must be found again. It is made with the first of them.
 * @throws StartupError when the name, in a directory where anybody may make names, is somebody else's
 */
function elsewhere(root: string): string {
  const dir = join(tmpdir(), `angelia-work-${digest(root)}`);
  const found = lstatSync(dir, { throwIfNoEntry: false });
  if (found !== undefined && !(found.isDirectory() && found.uid === process.getuid?.())) {
    throw new StartupError([
      `${dir}: belongs to somebody else; remove it, or open ANGELIA_DATA to other users`,
    ]);
  }
  return dir;
}
