#!/usr/bin/env node
import { withEnvFile } from '@angelia/config/env-file';
import { runCli } from './cli.ts';
import { EXIT } from './exit.ts';

// `angelia sessions | head`: the reader closed the pipe. That is not an error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(EXIT.nobodyReads);
  });
}

/** A file that cannot be read is no reason not to list sessions. `angelia config check` and `doctor` report it. */
function environment(): NodeJS.ProcessEnv {
  try {
    return withEnvFile(process.env);
  } catch {
    return process.env;
  }
}

/** Long enough to close a connection, short enough for someone who pressed Ctrl-C. */
const INTERRUPT_GRACE_MS = 1_000;

// One Ctrl-C can arrive twice: from the terminal, and forwarded by the Node process that started this one.
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupted.abort();
    setTimeout(() => process.exit(EXIT.interrupted), INTERRUPT_GRACE_MS).unref();
  });
}

try {
  process.exitCode = await runCli(process.argv.slice(2), {
    env: environment(),
    bareEnv: process.env,
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: interrupted.signal,
    now: Date.now,
  });
} catch (error) {
  // A bug of ours: every expected failure is a CliError. A stack would not help the user.
  const { name, message } = error as Error;
  process.stderr.write(`angelia: this is a bug: ${name}: ${message}\n`);
  process.exitCode = EXIT.failed;
}
