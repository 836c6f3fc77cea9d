import { spawn } from 'node:child_process';

export interface CommandResult {
  readonly exitCode: number;
  readonly output: string;
}

/** Runs one of our scripts to its end. Its output is short: one line when something is wrong. */
export function runScript(script: string, env: NodeJS.ProcessEnv): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--enable-source-maps', script], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ exitCode: code ?? 1, output: output.trim() }));
  });
}

/** What a script or service says to the user (`angelia: what (where): what to do`), one line per problem. */
export function lineForTheUser(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const said = lines.filter((line) => line.startsWith('angelia: '));
  // A service that was restarted says the same again.
  if (said.length > 0) return [...new Set(said)].join('\n').slice('angelia: '.length);
  return lines.at(-1) ?? 'it said nothing';
}
