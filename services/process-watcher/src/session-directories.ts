import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
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
 * The files under `$ANGELIA_DATA/processes`:
 *
 *   <session>/work/            the session's working directory: the only one that its commands own
 *   <session>/conversation     of a continuation: the session whose working directory and user it uses instead
 *   <session>/received         which files of messages were put into its working directory
 *   <session>/continuations/   the sessions that use its working directory as well
 *   <session>/<command>/       what the supervisor writes about one command (supervisor/protocol.ts); only we may enter it
 *   running/<session>~<name>   a call in flight, or a command whose end is not in the log yet: what to look after when we
 *                              start again
 *   supervisors/<instance>/    the supervisor's socket; only we may enter it
 *
 * Commands may pass through these directories but cannot list them. If the data directory itself is closed to other
 * users (`mktemp -d`), the working directories are in the system's directory for temporary files instead.
 */
export class SessionDirectories {
  readonly root: string;
  readonly #workRoot: string;

  constructor(dataDirectory: string, users: { readonly separateUsers: boolean }) {
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
    this.#workRoot =
      !users.separateUsers || isOpenToAll(this.root) ? this.root : temporaryWorkRoot(this.root);
  }

  /** Where the working directories are; undefined if they are under the root. */
  get workElsewhere(): string | undefined {
    return this.#workRoot === this.root ? undefined : this.#workRoot;
  }

  /** Makes the directory of an instance's supervisor if it is missing. */
  supervisorDirectory(instance: string): string {
    const dir = join(this.root, 'supervisors', instance);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    return dir;
  }

  /** The session whose working directory and user this one uses: itself, or the first one of its conversation. */
  placeOf(id: SessionId): SessionId {
    try {
      const place = readFileSync(join(this.root, id, CONVERSATION_FILE), 'utf8');
      return isSessionId(place) ? place : id;
    } catch {
      return id;
    }
  }

  /** Before its first command. Has no effect on a session that has a working directory of its own already. */
  joinConversation(id: SessionId, first: SessionId): void {
    if (id === first || !isSessionId(first) || this.placeOf(id) === first) return;
    if (existsSync(join(this.#workRoot, id, 'work'))) return;
    const continuations = join(this.root, first, CONTINUATIONS);
    for (const session of [id, first]) {
      mkdirSync(join(this.root, session), { recursive: true });
      chmodSync(join(this.root, session), 0o711);
    }
    mkdirSync(continuations, { recursive: true, mode: 0o700 });
    // In this order: the place is not removed while a session is on its list.
    writeFileSync(join(continuations, id), '', { mode: 0o600 });
    writeFileSync(join(this.root, id, CONVERSATION_FILE), first, { mode: 0o600 });
  }

  /** All sessions with files here that use this working directory, the oldest first. */
  sessionsAt(place: SessionId): SessionId[] {
    const others = list(join(this.root, place, CONTINUATIONS)).filter((name) => isSessionId(name));
    return [place, ...others.filter((id) => existsSync(join(this.root, id))).sort()];
  }

  /** The directory that holds the session's working directory. */
  sessionDirectory(id: SessionId): string {
    return join(this.#workRoot, this.placeOf(id));
  }

  makeSessionDirectory(id: SessionId): string {
    const session = this.sessionDirectory(id);
    if (this.#workRoot !== this.root) {
      mkdirSync(temporaryWorkRoot(this.root), { recursive: true, mode: 0o711 });
    }
    mkdirSync(session, { recursive: true });
    chmodSync(session, 0o711);
    return session;
  }

  workDirectory(id: SessionId): string {
    return join(this.sessionDirectory(id), 'work');
  }

  /** Makes the session's working directory if it is missing, and gives it to the user. */
  makeWorkDirectory(id: SessionId, user: User | null): string {
    this.makeSessionDirectory(id);
    const work = this.workDirectory(id);
    mkdirSync(work, { recursive: true, mode: 0o700 });
    if (user !== null && statSync(work).uid !== user.uid) chownSync(work, user.uid, user.gid);
    return work;
  }

  /** The list of the files of its messages that were put there (files/received-files.ts). */
  receivedList(id: SessionId): string {
    return join(this.root, id, 'received');
  }

  makeReceivedList(id: SessionId): string {
    mkdirSync(join(this.root, id), { recursive: true });
    chmodSync(join(this.root, id), 0o711);
    return this.receivedList(id);
  }

  /** The owner of the session's working directory, which commands cannot replace. Null if there is no such directory. */
  ownerOf(id: SessionId): number | null {
    return statSync(this.workDirectory(id), { throwIfNoEntry: false })?.uid ?? null;
  }

  /** Whether this session directory belongs to this stack. */
  isOurs(sessionDirectory: string): boolean {
    return dirname(sessionDirectory) === this.#workRoot;
  }

  /** The names of a session's commands that have files here. */
  commandsOf(id: SessionId): string[] {
    return list(join(this.root, id)).filter((name) => /^(call|proc)_/.test(name));
  }

  /** Where a command's files are. `name` is a `foregroundName` or the id of a process. */
  commandDirectory(id: SessionId, name: string): string {
    return join(this.root, id, name);
  }

  /** Makes a command's directory, and notes that this command needs looking after. */
  makeCommandDirectory(id: SessionId, name: string): string {
    const dir = this.commandDirectory(id, name);
    mkdirSync(dirname(dir), { recursive: true });
    chmodSync(dirname(dir), 0o711);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.#markUnsettled(id, name);
    return dir;
  }

  /** Notes that a call is in flight, before its hint is acked: the watcher that starts after us looks at it at once. */
  noteCallTaken(id: SessionId, callId: string): void {
    this.#markUnsettled(id, takenCallName(callId));
  }

  noteCallOver(id: SessionId, callId: string): void {
    this.markSettled(id, takenCallName(callId));
  }

  #markUnsettled(id: SessionId, name: string): void {
    writeFileSync(join(this.#running, `${id}~${name}`), '', { mode: 0o600 });
  }

  /** Its end is in the log. The output of a background process stays on disk for later readers. */
  markSettled(id: SessionId, name: string): void {
    rmSync(join(this.#running, `${id}~${name}`), { force: true });
  }

  /** Calls in flight and commands whose end is not in the log yet. */
  unsettled(): { readonly sessionId: SessionId; readonly name: string }[] {
    return readdirSync(this.#running).flatMap((entry) => {
      const cut = entry.indexOf('~');
      const id = entry.slice(0, cut);
      return cut > 0 && isSessionId(id) ? [{ sessionId: id, name: entry.slice(cut + 1) }] : [];
    });
  }

  removeCommand(id: SessionId, name: string): void {
    rmSync(this.commandDirectory(id, name), { recursive: true, force: true });
    this.markSettled(id, name);
  }

  /** Sessions that have files here. */
  sessions(): SessionId[] {
    const names = new Set([...list(this.root), ...list(this.#workRoot)]);
    return [...names].filter((name) => isSessionId(name));
  }

  changedAt(id: SessionId): number {
    try {
      return statSync(join(this.root, id)).mtimeMs;
    } catch {
      return 0;
    }
  }

  /** Removes what is the session's own and not its conversation's. */
  removeCommands(id: SessionId): void {
    for (const command of this.unsettled()) if (command.sessionId === id) this.markSettled(id, command.name);
    for (const name of this.commandsOf(id)) this.removeCommand(id, name);
  }

  removeSession(id: SessionId): void {
    this.removeCommands(id);
    const place = this.placeOf(id);
    if (place !== id) rmSync(join(this.root, place, CONTINUATIONS, id), { force: true });
    rmSync(join(this.root, id), { recursive: true, force: true });
    rmSync(join(this.#workRoot, id), { recursive: true, force: true });
  }

  get #running(): string {
    return join(this.root, 'running');
  }
}

const CONVERSATION_FILE = 'conversation';
const CONTINUATIONS = 'continuations';

/** The name of a foreground command's directory. A digest, because call ids come from models and may hold anything. */
export function foregroundName(callId: string): string {
  return `call_${digest(callId)}`;
}

export function takenCallName(callId: string): string {
  return `taken_${digest(callId)}`;
}

/** Derived from the call, so that one call never becomes two processes, whatever crashes in between. */
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
 * The same path every time for the same data directory, so that a session's files are found again. It is made together
 * with the first session.
 * @throws StartupError if somebody else owns that name: anybody may make names in a directory for temporary files
 */
function temporaryWorkRoot(root: string): string {
  const dir = join(tmpdir(), `angelia-work-${digest(root)}`);
  const found = lstatSync(dir, { throwIfNoEntry: false });
  if (found !== undefined && !(found.isDirectory() && found.uid === process.getuid?.())) {
    throw new StartupError([
      `${dir}: belongs to somebody else; remove it, or open ANGELIA_DATA to other users`,
    ]);
  }
  return dir;
}
