import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

interface ScriptResult {
  readonly exitCode: number;
  readonly output: string;
}

/**
 * Runs one of our scripts to its end. Its output is short: one line if something is wrong, and one now and then while it
 * waits.
 */
export function runScript(
  script: string,
  env: NodeJS.ProcessEnv,
  options: {
    readonly args?: readonly string[];
    /** Called for each line as it comes. */
    readonly onLine?: (line: string) => void;
    /** Ends the script, whose exit code is then not 0. */
    readonly signal?: AbortSignal;
  } = {},
): Promise<ScriptResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...(options.args ?? [])], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        output += `${line}\n`;
        options.onLine?.(line);
      });
    }
    const end = () => child.kill('SIGTERM');
    if (options.signal?.aborted) end();
    options.signal?.addEventListener('abort', end, { once: true });
    child.once('error', reject);
    child.once('close', (code) => {
      options.signal?.removeEventListener('abort', end);
      resolve({ exitCode: code ?? 1, output: output.trim() });
    });
  });
}

/** What a script or service tells the user (`angelia: what (where): what to do`), one line per problem. */
export function userMessage(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const said = lines.filter((line) => line.startsWith('angelia: '));
  // A service that was restarted repeats its message.
  if (said.length > 0) return [...new Set(said)].join('\n').slice('angelia: '.length);
  return lines.at(-1) ?? 'it said nothing';
}
