import { hostname } from 'node:os';
import type { TerminalArguments } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import type { SessionCommand } from '@angelia/session';
import { shellArgv } from '../commands/shell.ts';
import { processIdOf } from '../session-directories.ts';
import { redactCommand } from './redact-command.ts';
import { hostFullMessage } from './refusals.ts';
import { type Call, type CallResult, failed, ok, type ToolDeps, unknownOutcome } from './tool-call.ts';

/** `terminal` with `background: true`: starts a process and answers as soon as it runs. */
export async function startBackground(
  call: Call,
  args: TerminalArguments,
  deps: ToolDeps,
): Promise<CallResult> {
  const { config, commands, background } = deps;
  const { sessionId, callId } = call;
  const { state } = call.loaded;
  const processId = processIdOf(sessionId, callId);
  const agent = config.agents[state.created?.agent ?? ''];
  const limits = agent?.kind === 'llm' ? agent.processes : { max_per_session: 0, max_wait_seconds: 0 };
  if (!commands.wasStarted(sessionId, processId)) {
    const alive = background.aliveOf(sessionId, state.processes);
    if (alive.size >= limits.max_per_session) {
      return failed(
        `${alive.size} background processes of this session run already, which is the limit: wait for one or kill one`,
      );
    }
    if (commands.isFull) return failed(hostFullMessage(config));
  }
  background.noteStarting(sessionId, processId);
  const result = await start(call, processId, args, limits.max_wait_seconds, deps);
  if (result.outcome !== 'ok') background.noteOver(sessionId, processId);
  return result;
}

async function start(
  call: Call,
  processId: string,
  args: TerminalArguments,
  maxWaitSeconds: number,
  { config, commands, background, instance }: ToolDeps,
): Promise<CallResult> {
  const { sessionId, callId } = call;
  const { process_watcher } = config;
  const reply = await commands.start({
    sessionId,
    name: processId,
    argv: shellArgv(args.command, process_watcher),
    cwd: args.cwd,
    stdin: 'open',
    lifetimeSeconds: process_watcher.max_lifetime_seconds,
    idleSeconds: process_watcher.max_idle_seconds,
    watchPatterns: args.watch_patterns,
    endLeftovers: false,
  });
  if (reply.status === 'failed') return failed(`the command could not be started: ${reply.reason}`);
  const identity = reply.status === 'started' ? reply.identity : commands.identityOf(sessionId, processId);
  if (identity === null) {
    return unknownOutcome('the command may or may not have been started', {
      recorded: () => commands.forget(sessionId, processId),
    });
  }
  const started: SessionCommand = {
    type: 'process-started',
    processId,
    callId,
    command: toStorable(redactCommand(args.command)),
    host: hostname(),
    bootId: identity.bootId,
    pid: identity.pid,
    pidStartTime: identity.pidStartTime,
    cwd: toStorable(commands.workingDirectory(sessionId, args.cwd)),
    notifyOnComplete: args.notify_on_complete,
    watchPatterns: args.watch_patterns.map(toStorable),
    waitDeadline: call.takenUpAt + maxWaitSeconds * 1000,
    watcher: instance,
  };
  return ok(
    { process_id: processId },
    {
      also: [started],
      recorded: () => background.track(sessionId, processId),
      refused: () => background.abandon(sessionId, processId),
    },
  );
}
