import type { Socket } from 'node:net';

/**
 * How process-watcher and its supervisor talk: lines of JSON over a Unix socket, in a directory that only the services'
 * user may enter. And what the supervisor leaves on disk about each command, which counts even when both are gone:
 *
 *   begun.json       written once, before anything is started: a command that has it is not started again (C14)
 *   started.json     boot id, pid and the pid's start time
 *   output.<n>       what it printed from byte n on; the oldest part is removed when there is too much (output-file.ts)
 *   errors.<n>       the same for stderr, if the two are kept apart
 *   matches.jsonl    the matches of its watch patterns that are worth a notice
 *   exit.json        how it ended; written completely or not at all
 *
 * The socket's name holds the version. After an upgrade that changes how a command is started, the old supervisor keeps
 * its commands and a new one is started beside it. Watchers of any version ask both, so `has`, `stop` and `write` must
 * never change.
 */
export const PROTOCOL = 3;
export const SOCKET_NAME = `supervisor-${PROTOCOL}.sock`;

export const START_MARKER_FILE = 'begun.json';
export const STARTED_FILE = 'started.json';
export const EXIT_FILE = 'exit.json';
export const MATCHES_FILE = 'matches.jsonl';
export const OUTPUT = 'output';
export const ERRORS = 'errors';

/**
 * In the environment of a command and of everything that it starts: it identifies processes that left the command's group
 * (`setsid`). A process that also empties its environment is identified by its user, if the session has a user of its own
 * (user-processes.ts). Otherwise it is not found.
 */
export const MARK_VARIABLE = 'ANGELIA_COMMAND_ID';

export interface StartMarker {
  readonly at: string;
  /** The directory of the supervisor that has the command. */
  readonly supervisor: string;
}

/** Identifies one process: a later one with the same pid differs. */
export interface ProcessIdentity {
  readonly bootId: string;
  readonly pid: number;
  /** Clock ticks since boot: /proc/<pid>/stat, field 22. */
  readonly pidStartTime: string;
}

export interface StartRequest {
  readonly op: 'start';
  /** The directory for its files, which exists and is empty. All other requests name the command by it. */
  readonly dir: string;
  readonly file: string;
  readonly args: readonly string[];
  /** With `MARK_VARIABLE` in it. */
  readonly env: Readonly<Record<string, string>>;
  /** Unique to this command. */
  readonly mark: string;
  readonly session: string;
  /** The limit for all commands of the session together, daemons included; 0: no limit. */
  readonly sessionMemoryBytes: number;
  /** The user to run as; null: the supervisor's own. */
  readonly user: { readonly uid: number; readonly gid: number } | null;
  /** True: the program is started as the supervisor's own user and becomes `user` by itself. */
  readonly becomesUser: boolean;
  /** True: only this session has that user, so everything that runs as it is the session's. */
  readonly userIsOwn?: boolean;
  /** `none`: /dev/null. `open`: stays open for `write`. Otherwise: this text, then closed. */
  readonly stdin: 'none' | 'open' | { readonly text: string };
  /** Keep stderr apart. If false, the command itself joins the two. */
  readonly separateErrors: boolean;
  /** How much of the output to keep. */
  readonly keepBytes: number;
  readonly lifetimeMs: number;
  /** End it after this time without output; null: never. */
  readonly idleMs: number | null;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  readonly watchPatterns: readonly string[];
  /** End what the command leaves running in its process group: nobody would know of it. */
  readonly endLeftovers: boolean;
}

export type Request =
  | StartRequest
  /** SIGTERM to the group, then SIGKILL after the grace. Answers when the group is gone, or with the survivors. */
  | { readonly op: 'stop'; readonly dir: string; readonly graceMs: number }
  | { readonly op: 'write'; readonly dir: string; readonly data: string; readonly end: boolean }
  /** Asks whether this supervisor has the command and will record its end. */
  | { readonly op: 'has'; readonly dir: string };

export type StartReply =
  /** By this request or an earlier one: a command is never started twice. */
  | { readonly status: 'started'; readonly identity: ProcessIdentity }
  /** A supervisor that is gone began it. Its files say what is known. */
  | { readonly status: 'begun_earlier' }
  /** It could not be started and never ran. */
  | { readonly status: 'failed'; readonly reason: string };

export interface StopReply {
  /** False if this supervisor does not have the command (any more). */
  readonly known: boolean;
  /** Pids of its group that even SIGKILL did not end. */
  readonly survivors: readonly number[];
}

export interface WriteReply {
  readonly status: 'written' | 'closed' | 'full' | 'unknown';
}

export interface Replies {
  start: StartReply;
  stop: StopReply;
  write: WriteReply;
  has: { readonly known: boolean };
}

export type Message =
  | { readonly id: number; readonly reply: unknown }
  | { readonly id: number; readonly error: string }
  /** Tells the watcher to read the command's files. */
  | { readonly event: 'ended' | 'matched'; readonly dir: string };

export interface ExitRecord {
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly started_at: string;
  readonly ended_at: string;
  readonly duration_seconds: number;
  /** Why we ended it; null if it ended by itself or somebody else ended it. */
  readonly limit: 'lifetime' | 'idle' | 'memory' | 'stopped' | null;
  /** How many processes of its group it left running. */
  readonly left_running: number;
  readonly output_bytes: number;
}

export interface MatchRecord {
  /** The number of this notice: 1 for the first of the process. */
  readonly match: number;
  readonly pattern: string;
  readonly line: string;
  /** True: the pattern matched too often, and this is the last notice. */
  readonly overload: boolean;
}

/** Calls back for each line, however the stream is cut into chunks. */
export function readLines(socket: Socket, onLine: (line: string) => void): void {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
}
