import { type Config, terminalArguments } from '@angelia/contracts';
import type { Background } from '../background/background-processes.ts';
import type { Commands } from '../commands/host-commands.ts';
import { shellArgv } from '../commands/launch.ts';
import { limitReached } from '../commands/limit-reason.ts';
import { foregroundName } from '../session-directories.ts';
import { foregroundOutput, lostBytes, runForeground } from './foreground-command.ts';
import { type Call, type CallEnd, failed, ok } from './tool-call.ts';

export interface ToolDeps {
  readonly config: Config;
  readonly commands: Commands;
  readonly background: Background;
}

/** Of a command's output in its result: some 8,000 tokens. What is left out can be had by writing it to a file. */
export const SHOWN_BYTES = 32_768;

/** A command line: in the foreground until it ends, in the background until it runs. */
export async function terminal(call: Call, deps: ToolDeps): Promise<CallEnd | null> {
  const parsed = terminalArguments.safeParse(parse(call.arguments));
  if (!parsed.success) return failed(parsed.error.issues.map((issue) => issue.message).join('; '));
  const refusal = refusedTo(call, deps);
  if (refusal !== null) return failed(refusal);
  const args = parsed.data;
  if (args.background) return deps.background.begin(call, args);

  const { sessionId, callId } = call;
  const name = foregroundName(callId);
  const { commands } = deps;
  if (commands.isFull && !commands.wasBegun(sessionId, name)) return failed(tooMany(deps.config));
  const end = await runForeground(
    {
      sessionId,
      callId,
      argv: shellArgv(args.command, deps.config.process_watcher),
      cwd: args.cwd,
      timeoutSeconds: args.timeout_seconds,
    },
    commands,
    call,
  );
  const recorded = (): void => commands.forget(sessionId, name);
  switch (end.kind) {
    case 'stopped':
      recorded();
      return null;
    case 'not_started':
      return failed(`the command could not be started: ${end.reason}`, { recorded });
    case 'lost':
      return {
        outcome: 'unknown',
        result: JSON.stringify({ error: `the command was begun, but ${end.reason}` }),
        recorded,
      };
    case 'ended':
      return ok(
        {
          exit_code: end.exitCode,
          ...(end.signal === null ? {} : { signal: end.signal }),
          ...(end.timedOut ? { timed_out: true } : {}),
          output: foregroundOutput(call, commands, SHOWN_BYTES),
          ...notes(
            { ...end, lostBytes: lostBytes(call, commands, end.outputBytes) },
            args.timeout_seconds,
            deps.config,
          ),
        },
        { recorded },
      );
  }
}

function notes(
  end: {
    readonly timedOut: boolean;
    readonly overMemory: boolean;
    readonly leftRunning: number;
    readonly lostBytes: number;
  },
  timeoutSeconds: number,
  { process_watcher }: Config,
): { readonly note?: string } {
  if (end.timedOut) {
    return {
      note: `ended after ${timeoutSeconds} s; for longer work use background: true, or a larger timeout_seconds`,
    };
  }
  if (end.overMemory) {
    return {
      note: `ended, with all other commands of this session: ${limitReached('memory', process_watcher)}`,
    };
  }
  if (end.lostBytes > 0) {
    return { note: `${end.lostBytes} bytes of its output could not be kept: the disk is full` };
  }
  if (end.leftRunning > 0) {
    return {
      note: `it left ${end.leftRunning} processes running, which were ended; use background: true for those`,
    };
  }
  return {};
}

/** Why this session may not run commands at all; null: it may. */
export function refusedTo(call: Pick<Call, 'loaded'>, { config }: Pick<ToolDeps, 'config'>): string | null {
  const { created } = call.loaded.state;
  if (created === null) return 'there is no such session';
  const agent = Object.hasOwn(config.agents, created.agent) ? config.agents[created.agent] : undefined;
  const own = agent?.kind === 'llm' ? agent.toolsets : [];
  // The agent's own as well: where no agent has it, not even one who can write to the log has a command carried out.
  const allowed = own.includes('terminal') && (created.toolsets ?? own).includes('terminal');
  return allowed ? null : 'this route does not allow the toolset `terminal`';
}

export function tooMany(config: Config): string {
  return `${config.process_watcher.max_processes} commands run at once already, which is the limit: try again later`;
}

export function parse(json: string): unknown {
  try {
    return JSON.parse(json === '' ? '{}' : json);
  } catch {
    return json;
  }
}
