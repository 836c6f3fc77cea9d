#!/usr/bin/env node
import { runCli } from './cli.ts';
import { EXIT } from './exit.ts';

// `angelia sessions | head`: whoever read has seen enough. Not an error, and nothing to say.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(EXIT.nobodyReads);
  });
}

/** Long enough to close a connection; nobody waits longer for a Ctrl-C. */
const INTERRUPT_GRACE_MS = 1_000;

// It may come twice for one Ctrl-C: from the terminal, and passed on by the Node in front of this one.
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupted.abort();
    setTimeout(() => process.exit(EXIT.interrupted), INTERRUPT_GRACE_MS).unref();
  });
}

try {
  process.exitCode = await runCli(process.argv.slice(2), {
    env: process.env,
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: interrupted.signal,
    now: Date.now,
  });
} catch (error) {
  // A mistake of ours: everything that we know of is a CliError. A stack is of no use to whoever reads this.
  const { name, message } = error as Error;
  process.stderr.write(`angelia: this is a bug: ${name}: ${message}\n`);
  process.exitCode = EXIT.failed;
}
