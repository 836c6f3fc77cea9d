// What the user sees of steps that take long: one line each, on stderr, so that a command's own output stays clean.

/** @param {string} line */
export function progress(line) {
  process.stderr.write(`angelia: ${line}\n`);
}

/** A reason not to go on that the user can mend. The message is the one line to show; the exit code is 1. */
export class BootstrapError extends Error {
  code = 'BOOTSTRAP_FAILED';
}
