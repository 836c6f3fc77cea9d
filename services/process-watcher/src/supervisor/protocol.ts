/**
 * How process-watcher and its supervisor talk: lines of JSON over a Unix socket in a directory that only the services'
 * user may enter. Beside it, what the supervisor leaves on disk, which counts even when both are gone:
 *
 *   begun.json       written before anything is started, never twice: a command that has it is not started again (C14)
 *   started.json     boot id, pid and the pid's start time
 *   output.<n>       what it printed from byte n on; the oldest part goes when there is too much (output-file.ts)
 *   errors.<n>       the same for stderr, where the two are kept apart
 *   matches.jsonl    the matches of its watch patterns that are worth a notice
 *   exit.json        how it ended; written whole or not at all
 *
 * The version stands in the socket's name: after an upgrade that changes how a command is started, the old supervisor goes
 * on with what it has and a new one is started beside it. Both are asked for what was begun before, so that `has`, `stop`
 * and `write` stay as they are.
 */
export const PROTOCOL = 3;
export const SOCKET_NAME = `supervisor-${PROTOCOL}.sock`;

export const BEGUN_FILE = 'begun.json';
export const STARTED_FILE = 'started.json';
export const EXIT_FILE = 'exit.json';
export const MATCHES_FILE = 'matches.jsonl';
export const OUTPUT = 'output';
export const ERRORS = 'errors';

/**
 * In the environment of a command and of all that it starts: tells them apart also when they left its process group
 * (`setsid`). Who empties its environment as well is known by its user, where the session has one of its own
 * (user-processes.ts); else it is not found.
 */
export const MARK_VARIABLE = 'ANGELIA_COMMAND_ID';

export interface BegunRecord {
  readonly at: string;
  /** Directory of the supervisor that has it. */
  readonly supervisor: string;
}

/** Tells a process from every other one, also from a later one with the same pid. */
export interface ProcessIdentity {
  readonly bootId: string;
  readonly pid: number;
  /** Clock ticks since boot: /proc/<pid>/stat, field 22. */
  readonly pidStartTime: string;
}

export interface StartRequest {
  readonly op: 'start';
  /** Where its files go: there already, and empty. Its name for all other requests. */
  readonly dir: string;
  readonly file: string;
  readonly args: readonly string[];
  /** With `MARK_VARIABLE` in it. */
  readonly env: Readonly<Record<string, string>>;
  /** Of this command alone. */
  readonly mark: string;
  readonly session: string;
  /** Of all commands of the session together, daemons included; 0: no limit. */
  readonly sessionMemoryBytes: number;
  /** Null: the supervisor's own user. */
  readonly user: { readonly uid: number; readonly gid: number } | null;
  /** True: it is started as the supervisor's own user and becomes `user` by itself. */
  readonly becomesUser: boolean;
  /** Nobody but this session has that user: whatever runs as it is the session's. */
  readonly userIsOwn?: boolean;
  /** `none`: /dev/null. `open`: for `write`. Else this text, and then its end. */
  readonly stdin: 'none' | 'open' | { readonly text: string };
  /** Keep stderr apart; else the command itself is expected to have joined the two. */
  readonly separateErrors: boolean;
  /** How much of the output is kept. */
  readonly keepBytes: number;
  readonly lifetimeMs: number;
  /** Without output for so long: ended. Null: never. */
  readonly idleMs: number | null;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  readonly watchPatterns: readonly string[];
  /** Ends what the command leaves running in its process group: nobody would know of it. */
  readonly endLeftovers: boolean;
}

export type Request =
  | StartRequest
  /** SIGTERM to the group, SIGKILL after the grace; answers when the group is gone, or what of it is left. */
  | { readonly op: 'stop'; readonly dir: string; readonly graceMs: number }
  | { readonly op: 'write'; readonly dir: string; readonly data: string; readonly end: boolean }
  /** Whether its end is still this supervisor's to record. */
  | { readonly op: 'has'; readonly dir: string };

export type StartReply =
  /** By this request or by an earlier one: the same command is not started twice. */
  | { readonly status: 'started'; readonly identity: ProcessIdentity }
  /** It was begun by a supervisor that is gone; its files say what is known. */
  | { readonly status: 'begun_earlier' }
  /** It could not be started, and never ran. */
  | { readonly status: 'failed'; readonly reason: string };

export interface StopReply {
  /** False: this supervisor does not have it (any more). */
  readonly known: boolean;
  /** Pids of its group that SIGKILL has not ended either. */
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
  /** Look at its files. */
  | { readonly event: 'ended' | 'matched'; readonly dir: string };

export interface ExitRecord {
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly started_at: string;
  readonly ended_at: string;
  readonly duration_seconds: number;
  /** Why we ended it; null: it ended by itself, or somebody else did it. */
  readonly limit: 'lifetime' | 'idle' | 'memory' | 'stopped' | null;
  /** Processes of its group that it left running. */
  readonly left_running: number;
  readonly output_bytes: number;
}

export interface MatchRecord {
  /** The n-th of this process that is worth a notice. */
  readonly match: number;
  readonly pattern: string;
  readonly line: string;
  /** It matched too often: this is the last one. */
  readonly overload: boolean;
}
