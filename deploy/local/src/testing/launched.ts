import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { identityOf } from '../../bootstrap/process-identity.mjs';
import { waitUntil } from '../wait-until.ts';

const WAIT_MS = 120_000;

/** A launcher in its own process, like `npm start`, with stand-ins for the services. */
export class Launched {
  readonly dataDir: string;
  readonly child: ChildProcess;
  output = '';
  exitCode: number | null = null;

  constructor(dataDir: string, env: NodeJS.ProcessEnv = {}) {
    this.dataDir = dataDir;
    const script = fileURLToPath(new URL('fake/launcher.ts', import.meta.url));
    this.child = spawn(process.execPath, [script], {
      // As under npm: the launcher watches its parent, and drains if the test run is killed.
      env: { ...process.env, npm_lifecycle_event: 'start', ANGELIA_DATA: dataDir, ANGELIA_PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
    this.child.once('close', (code, signal) => {
      this.exitCode = signal ? 137 : code;
    });
  }

  async ready(): Promise<this> {
    await this.says('Angelia is ready');
    return this;
  }

  async says(text: string): Promise<void> {
    const said = () => this.output.includes(text) || this.exitCode !== null;
    await waitUntil(said, WAIT_MS);
    if (!this.output.includes(text)) throw new Error(`the launcher did not say "${text}":\n${this.output}`);
  }

  async exit(): Promise<number> {
    if (await waitUntil(() => this.exitCode !== null, WAIT_MS)) return this.exitCode ?? 1;
    throw new Error(`the launcher did not end:\n${this.output}`);
  }

  async stop(): Promise<number> {
    this.child.kill('SIGTERM');
    return this.exit();
  }

  /** The pid in the pid file; 0 if there is none. */
  pid(name: string): number {
    return pidIn(this.dataDir, name);
  }
}

export function pidIn(dataDir: string, name: string): number {
  try {
    return Number(readFileSync(join(dataDir, 'run', `${name}.pid`), 'utf8'));
  } catch {
    return 0;
  }
}

export const isAlive = (pid: number): boolean => pid > 0 && identityOf(pid) !== null;
