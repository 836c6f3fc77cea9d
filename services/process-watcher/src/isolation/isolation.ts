import type { User } from '../users/user-policy.ts';

export interface Program {
  readonly file: string;
  readonly args: readonly string[];
}

/** A program in its enclosure, for the supervisor to start. */
export interface Enclosed extends Program {
  /** True: it is started as the supervisor's own user, which the mounts need, and becomes the session's user itself. */
  readonly becomesUser: boolean;
}

export interface Enclosing {
  /** The session's working directory: its own, at the same path, also inside. */
  readonly work: string;
  /** Null: the service's own user. */
  readonly user: User | null;
  /** What the enclosure itself has to say goes where the command's errors go. */
  readonly joinErrors: boolean;
}

/**
 * What is between a model's command and everything that is not its session's (invariant commands-are-alone). One is
 * chosen at start (choose.ts) and holds for all commands of this watcher; docs/adr/0012 says why there are several.
 */
export interface Isolation {
  readonly kind: 'namespaces' | 'bubblewrap' | 'own-user' | 'none';
  /** For the log, the readiness and doctor: what is in force, in one line. */
  readonly summary: string;
  /** What an operator should change; null: nothing. */
  readonly warning: string | null;
  /** Throws when the session's files cannot be made: a full disk. */
  enclose(program: Program, where: Enclosing): Enclosed;
}

/** What could be had of one kind on this host. */
export type Attempt =
  | { readonly ok: true; readonly isolation: Isolation }
  | { readonly ok: false; readonly reason: string };

/** As a shell says "found, but may not be executed": for a command that never ran. */
export const NOT_RUN = 126;

/** One word of a shell script, whatever is in it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
