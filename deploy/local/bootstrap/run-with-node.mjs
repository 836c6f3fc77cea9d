// Runs one of our scripts again with the Node that it needs. Node 20 cannot replace itself (execve came later), so it stays
// as the parent: it passes signals on and returns the exit code.

import { spawn } from 'node:child_process';

/**
 * @param {string} node
 * @param {string[]} args
 * @param {Record<string, string>} [env] added to the environment of this process
 * @returns {{ kill: (signal: NodeJS.Signals) => void }}
 */
export function runWithNode(node, args, env = {}) {
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`angelia: ${node} does not run here (${error.message}): install Node 24 and try again`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    // A shell reports 128 + n for a program that signal n ended; 137 is right for the usual SIGKILL.
    process.exit(signal ? 137 : (code ?? 1));
  });
  return { kill: (signal) => child.kill(signal) };
}
