// Reports long steps to the user: one line each, on stderr, so that a command's own output stays clean.

/** @param {string} line */
export function progress(line) {
  process.stderr.write(`angelia: ${line}\n`);
}

/** A problem that the user can fix. The message is the one line to show; the exit code is 1. */
export class BootstrapError extends Error {
  code = 'BOOTSTRAP_FAILED';
}
