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

/** The line that a script or service says to the user (`angelia: what (where): what to do`), without the prefix. */
export function lineForTheUser(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const said = lines.findLast((line) => line.startsWith('angelia: '));
  return said?.slice('angelia: '.length) ?? lines.at(-1) ?? 'it said nothing';
}
