import type { Account } from '../users/account-files.ts';
import type { User } from '../users/user-policy.ts';

export interface Program {
  readonly file: string;
  readonly args: readonly string[];
}

/** A program with what isolates it, for the supervisor to start. */
export interface Enclosed extends Program {
  /** True: it is started as the supervisor's own user, which mounting needs, and becomes the session's user by itself. */
  readonly becomesUser: boolean;
  /** Added to the command's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface EnclosureOptions {
  /** The session's working directory, which has the same path inside. */
  readonly work: string;
  /** Null means the service's own user. */
  readonly user: User | null;
  /** The name of the command's user; null in a probe. */
  readonly account: Account | null;
  /** The directories that the agent's sessions share, and the groups that its commands need for them. */
  readonly shared: { readonly paths: readonly string[]; readonly groups: readonly number[] };
  /** True: the errors of the isolation itself go where the command's errors go. */
  readonly joinErrors: boolean;
}

/**
 * Keeps a model's command away from everything that is not its session's (invariant commands-are-alone). The watcher
 * chooses one kind at its start (choose-isolation.ts) for all its commands. docs/adr/0012 says why there are several.
 */
export interface Isolation {
  readonly kind: 'namespaces' | 'bubblewrap' | 'own-user' | 'none';
  /** What is in force, in one line: for the log, the readiness and `angelia doctor`. */
  readonly summary: string;
  /** What an operator should change; null if nothing. */
  readonly warning: string | null;
  /** @throws if the session's files cannot be made, as on a full disk */
  enclose(program: Program, where: EnclosureOptions): Enclosed;
}

/** Whether one kind of isolation works on this host. */
export type Attempt =
  | { readonly ok: true; readonly isolation: Isolation }
  | { readonly ok: false; readonly reason: string };

/** The exit code of a command that never ran: a shell's "found, but may not be executed". */
export const NOT_RUN = 126;

/** Any text as one word of a shell script. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** For setpriv: these groups besides the user's own, and no others. */
export function supplementaryGroups(groups: readonly number[]): string[] {
  return groups.length === 0 ? ['--clear-groups'] : [`--groups=${groups.join(',')}`];
}
