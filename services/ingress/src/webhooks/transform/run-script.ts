import { type ChildProcess, spawn } from 'node:child_process';
import { dirname } from 'node:path';

interface ScriptRun {
  /** The real path of an executable file. */
  readonly path: string;
  readonly input: string;
  /** In addition to PASSED_ON. No other variable of ours is passed on, because ours hold secrets. */
  readonly variables: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
}

type ScriptEnd =
  | { readonly kind: 'ended'; readonly output: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** What programs need to start and to print text. */
const PASSED_ON = ['PATH', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR', 'HOME'] as const;
/** How much of a failed script's stderr is logged: its end, which is the part that matters. */
const KEPT_ERROR_BYTES = 2_000;
/** A process that the script left running may hold its pipes open. The script's own last output arrives well within this. */
const LAST_OUTPUT_MS = 200;

/**
 * Runs an operator's script without a shell, in its own process group. The group is killed when the time is up, when the
 * script prints too much, and when it leaves a process running. Always resolves.
 */
export function runScript(run: ScriptRun): Promise<ScriptEnd> {
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = spawn(run.path, [], {
        cwd: dirname(run.path),
        env: environment(run.variables),
        shell: false,
        detached: true, // its own process group
        stdio: ['pipe', 'pipe', 'pipe'],
        windowsHide: true,
      });
    } catch (error) {
      resolve({ kind: 'failed', reason: `it cannot be started: ${(error as Error).message}` });
      return;
    }
    const output: Buffer[] = [];
    let outputBytes = 0;
    let errors = Buffer.alloc(0);
    let stopped: string | null = null;
    let ended: { readonly code: number | null; readonly signal: string | null } | null = null;
    let lastOutput: NodeJS.Timeout | undefined;

    const stop = (reason: string) => {
      stopped ??= reason;
      killGroup(child);
    };
    const timer = setTimeout(() => stop(`it took longer than ${run.timeoutMs} ms`), run.timeoutMs);
    const finish = (failure?: string) => {
      clearTimeout(timer);
      clearTimeout(lastOutput);
      child.stdout?.destroy();
      child.stderr?.destroy();
      const reason = failure ?? stopped ?? failureOf(ended);
      if (reason === null) resolve({ kind: 'ended', output: Buffer.concat(output).toString('utf8') });
      else resolve({ kind: 'failed', reason: withStderr(reason, errors) });
    };

    child.once('error', (error) => finish(`it cannot be started: ${error.message}`));
    child.once('exit', (code, signal) => {
      ended = { code, signal };
      lastOutput = setTimeout(() => {
        killGroup(child);
        finish();
      }, LAST_OUTPUT_MS);
    });
    child.once('close', () => finish());
    child.stdout?.on('data', (part: Buffer) => {
      outputBytes += part.length;
      if (outputBytes > run.maxOutputBytes) stop(`it printed more than ${run.maxOutputBytes} bytes`);
      else output.push(part);
    });
    child.stderr?.on('data', (part: Buffer) => {
      errors = Buffer.concat([errors, part.subarray(-KEPT_ERROR_BYTES)]).subarray(-KEPT_ERROR_BYTES);
    });
    child.stdin?.on('error', () => {}); // the script did not read its input; its exit code says what that means
    child.stdin?.end(run.input);
  });
}

function environment(variables: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const passedOn = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(passedOn), ...variables };
}

function failureOf(
  ended: { readonly code: number | null; readonly signal: string | null } | null,
): string | null {
  if (ended?.code === 0) return null;
  return ended === null || ended.code === null
    ? `it was killed by ${ended?.signal ?? 'an unknown cause'}`
    : `it exited with code ${ended.code}`;
}

function withStderr(reason: string, errors: Buffer): string {
  const said = errors.toString('utf8').trim();
  return said === '' ? reason : `${reason}: ${said}`;
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The whole group has ended already.
  }
}
