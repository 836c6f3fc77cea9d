import { type Config, parseToolArguments, terminalArguments } from '@angelia/contracts';
import { limitReason } from '../commands/limit-reason.ts';
import { shellArgv } from '../commands/shell.ts';
import { foregroundName } from '../session-directories.ts';
import { foregroundOutput, lostBytes, runForeground } from './foreground-command.ts';
import { hostFullMessage, terminalRefusal } from './refusals.ts';
import { startBackground } from './start-background.ts';
import {
  type Call,
  type CallResult,
  failed,
  ok,
  parseArguments,
  type ToolDeps,
  unknownOutcome,
} from './tool-call.ts';

/** How much of a command's output its result shows: some 8,000 tokens. For the rest a command can write to a file. */
export const SHOWN_BYTES = 32_768;

/** Runs a command line: in the foreground until it ends, in the background until it has started. */
export async function terminalTool(call: Call, deps: ToolDeps): Promise<CallResult | null> {
  const parsed = parseToolArguments(terminalArguments, parseArguments(call.arguments));
  if (!parsed.ok) return failed(parsed.problem);
  const refusal = terminalRefusal(call, deps);
  if (refusal !== null) return failed(refusal);
  const { args } = parsed;
  if (args.background) return startBackground(call, args, deps);

  const { sessionId, callId } = call;
  const name = foregroundName(callId);
  const { commands } = deps;
  if (commands.isFull && !commands.wasStarted(sessionId, name)) return failed(hostFullMessage(deps.config));
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
      return unknownOutcome(`the command was started, but ${end.reason}`, { recorded });
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
      note: `ended, with all other commands of this session: ${limitReason('memory', process_watcher)}`,
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
