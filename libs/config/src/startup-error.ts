import type { ConfigProblem } from '@angelia/contracts';
import { AngeliaError } from '@angelia/contracts/errors';

/** EX_CONFIG of sysexits.h: a restart does not help until somebody changes something. */
export const EXIT_CONFIG = 78;

/**
 * A reason not to start that the user can correct: the config, the environment, the database's role or cluster. At the
 * start `runService` prints its lines and exits with 78. Thrown while a service takes a new config, it means that the
 * service keeps the one that it has.
 */
export class StartupError extends AngeliaError {
  readonly code = 'startup_refused';
  readonly retryable = false;
  override readonly name: string = 'StartupError';
  /** One line for each problem; stderr shows it as `angelia: <line>`. */
  readonly lines: readonly string[];

  constructor(lines: readonly string[], options?: ErrorOptions) {
    super(lines.join('\n'), options);
    this.lines = lines;
  }
}

/** A problem of the config file, and where it is. */
export interface LocatedProblem {
  /** The key, such as `agents.default.kind`. Empty if the problem is the file itself. */
  readonly path: string;
  /** From 1. Null if there is no place in the file, for example because there is no file. */
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

/** Thrown for a config file that cannot be used. Its lines are its problems, each with the place in the file. */
export class ConfigRefused extends StartupError {
  override readonly name = 'ConfigRefused';
  readonly problems: readonly LocatedProblem[];

  constructor(file: string, problems: readonly LocatedProblem[], options?: ErrorOptions) {
    super(
      problems.map((problem) => describeProblem(file, problem)),
      options,
    );
    this.problems = problems;
  }
}

/**
 * Thrown by a service that cannot work with a config, although the file itself is good: a script is missing, a host does
 * not allow what the config asks for. `LoadedConfig.refusal` adds the places in the file.
 */
export class ConfigUnusable extends StartupError {
  override readonly name = 'ConfigUnusable';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[], options?: ErrorOptions) {
    super(
      problems.map(({ place, reason }) => `${place}: ${reason}`),
      options,
    );
    this.problems = problems;
  }
}

/** `agents.default.kind: "lmm" is not a kind of agent. Use llm, command or http. (angelia.yaml:12:11)` */
function describeProblem(file: string, { path, line, column, message }: LocatedProblem): string {
  const where = line === null ? file : `${file}:${line}:${column}`;
  return path === '' ? `config file ${where}: ${message}` : `${path}: ${message} (${where})`;
}

/** What the user reads: one line for each problem. The launcher repeats the first. */
export function startupMessage(error: StartupError): string {
  return error.lines.map((line) => `angelia: ${line.replaceAll('\n', ' ')}\n`).join('');
}
