import { type ProcessArguments, parseToolArguments, processArguments } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import { decide, type ProcessState, type SessionCommand } from '@angelia/session';
import type { Sessions } from '@angelia/sessions';
import { pause } from '@angelia/waiting';
import { limitReason } from '../commands/limit-reason.ts';
import { asText, type OutputPart, outputEnd, readOutput, readTail } from '../commands/read-output.ts';
import { retryUntilDone } from '../retry-until-done.ts';
import { OUTPUT } from '../supervisor/protocol.ts';
import { terminalRefusal } from './refusals.ts';
import { SHOWN_BYTES } from './terminal-tool.ts';
import {
  type Call,
  type CallResult,
  failed,
  ok,
  parseArguments,
  type ToolDeps,
  unknownOutcome,
} from './tool-call.ts';

interface ProcessToolDeps extends ToolDeps {
  readonly sessions: Pick<Sessions, 'execute' | 'load'>;
}

/** How much of the output the answers about a process's state show. */
const POLLED_BYTES = 4_000;
/** How long a kill waits for the exit to be on disk: after the group is gone, that takes a moment. */
const EXIT_WAIT_MS = 3_000;
const EXIT_LOOK_MS = 20;

/** The tool `process`: lists, reads, waits for, kills and writes to the session's own background processes. */
export async function processTool(call: Call, deps: ProcessToolDeps): Promise<CallResult | null> {
  const parsed = parseToolArguments(processArguments, parseArguments(call.arguments));
  if (!parsed.ok) return failed(parsed.problem);
  const refusal = terminalRefusal(call, deps);
  if (refusal !== null) return failed(refusal);
  const { args } = parsed;
  const { processes } = call.loaded.state;
  if (args.action === 'list') return ok({ processes: processes.map((process) => listed(process)) });
  const process = processes.find(({ processId }) => processId === args.process_id);
  if (process === undefined) {
    return failed(`no process ${args.process_id} in this session: \`list\` shows the processes`);
  }
  switch (args.action) {
    case 'poll':
      return ok(answer(call, process, deps, polled(call, process, deps)));
    case 'log':
      return log(call, process, args, deps);
    case 'wait':
      return wait(call, process, args, deps);
    case 'kill':
      return kill(call, process, deps);
    case 'write':
      return write(call, process, args, deps);
  }
}

function log(call: Call, process: ProcessState, args: ProcessArguments, deps: ProcessToolDeps): CallResult {
  const dir = deps.commands.directory(call.sessionId, process.processId);
  const ended = statusOf(call, process, deps) !== 'running';
  const part =
    args.offset === undefined
      ? lastLines(readTail(dir, OUTPUT, SHOWN_BYTES), args.lines)
      : readOutput(dir, OUTPUT, args.offset, SHOWN_BYTES);
  const atEnd = part.next >= outputEnd(dir, OUTPUT);
  return ok(
    {
      ...answer(call, process, deps, shown(part, !atEnd)),
      offset: part.from,
      next_offset: part.next,
      at_end: atEnd,
      ...(part.from > (args.offset ?? part.from)
        ? { note: `what was before byte ${part.kept} is not kept` }
        : {}),
    },
    // The model has read a finished process's output to its end, so it knows how the process ended.
    ended && atEnd ? { also: [consumed(process, 'log')] } : {},
  );
}

async function wait(
  call: Call,
  process: ProcessState,
  args: ProcessArguments,
  deps: ProcessToolDeps,
): Promise<CallResult | null> {
  const { background, sessions } = deps;
  let current = process;
  if (process.status === 'running') {
    await background.waitForEnd(process.processId, args.timeout_seconds * 1000, call.stop);
    call.signal.throwIfAborted();
    if (call.stop.aborted) return null;
    const { state } = await retryUntilDone(call.signal, () => sessions.load(call.sessionId));
    current = state.processes.find(({ processId }) => processId === process.processId) ?? process;
    if (statusOf(call, current, deps) === 'running') {
      return ok({
        ...answer(call, current, deps, polled(call, current, deps)),
        note: `it has not ended within ${args.timeout_seconds} s, and is still running`,
      });
    }
  }
  return ok(answer(call, current, deps, polled(call, current, deps)), { also: [consumed(current, 'wait')] });
}

async function kill(call: Call, process: ProcessState, deps: ProcessToolDeps): Promise<CallResult | null> {
  const { commands, sessions } = deps;
  const { sessionId } = call;
  const { processId } = process;
  // Record first that the model knows, then end it: the other way round, the model would get a notice of its own kill (C10).
  await retryUntilDone(call.signal, () =>
    sessions.execute(sessionId, ({ state }) => decide(state, consumed(process, 'kill'))),
  );
  // Also for a process that has exited: it may have left something running.
  const survivors = await commands.stop(sessionId, processId);
  for (const until = performance.now() + EXIT_WAIT_MS; performance.now() < until; ) {
    if (statusOf(call, process, deps) !== 'running' || !deps.background.isTracked(processId)) break;
    await pause(EXIT_LOOK_MS);
  }
  return ok({
    ...answer(call, process, deps, polled(call, process, deps)),
    ...(survivors.length > 0 ? { survivors, note: 'these pids could not be ended' } : {}),
  });
}

async function write(
  call: Call,
  process: ProcessState,
  args: ProcessArguments,
  { commands }: ProcessToolDeps,
): Promise<CallResult> {
  const status = await commands.write(call.sessionId, process.processId, args.data ?? '', args.close);
  switch (status) {
    case 'written':
      return ok({
        process_id: process.processId,
        state: 'running',
        written: Buffer.byteLength(args.data ?? ''),
      });
    case 'full':
      return failed('the process does not read its input: nothing was written');
    case 'silent':
      return unknownOutcome(
        'the supervisor of commands does not answer: whether it was written is not known',
      );
    case 'closed':
    case 'unknown':
      return failed('the process has ended, or its standard input is closed: nothing was written');
  }
}

/** By the process's files, which know of an end before the log does. */
function statusOf(call: Call, process: ProcessState, { commands }: ProcessToolDeps): ProcessState['status'] {
  if (process.status !== 'running') return process.status;
  return commands.exitOf(call.sessionId, process.processId) === null ? 'running' : 'exited';
}

function answer(
  call: Call,
  process: ProcessState,
  deps: ProcessToolDeps,
  output: string,
): Record<string, unknown> {
  const exit = deps.commands.exitOf(call.sessionId, process.processId);
  const exitCode = process.exitCode ?? exit?.exit_code ?? null;
  const signal = process.signal ?? exit?.signal ?? null;
  const state = statusOf(call, process, deps);
  const reason = limitReason(exit?.limit ?? null, deps.config.process_watcher);
  return {
    process_id: process.processId,
    state,
    ...(state === 'running' ? {} : { exit_code: exitCode }),
    ...(signal === null ? {} : { signal }),
    // The model knows of its own `kill`.
    ...(reason === null || exit?.limit === 'stopped' ? {} : { reason }),
    output,
  };
}

function listed(process: ProcessState): Record<string, unknown> {
  return {
    process_id: process.processId,
    state: process.status,
    command: process.command,
    started_at: new Date(process.startedAt).toISOString(),
    ...(process.status === 'running' ? {} : { exit_code: process.exitCode }),
    ...(process.signal === null ? {} : { signal: process.signal }),
  };
}

function consumed(
  process: ProcessState,
  by: 'wait' | 'log' | 'kill',
): Extract<SessionCommand, { type: 'consume-completion' }> {
  return { type: 'consume-completion', processId: process.processId, by };
}

function polled(call: Call, process: ProcessState, { commands }: ProcessToolDeps): string {
  return shown(readTail(commands.directory(call.sessionId, process.processId), OUTPUT, POLLED_BYTES), false);
}

function shown(part: OutputPart, cutAtEnd: boolean): string {
  return toStorable(asText(part.bytes, { start: part.from > part.kept || part.kept > 0, end: cutAtEnd }));
}

function lastLines(part: OutputPart, lines: number): OutputPart {
  const { bytes } = part;
  let at = bytes.length - 1; // after a newline at the very end there is no further line
  for (let n = 0; n < lines && at >= 0; n += 1) at = at === 0 ? -1 : bytes.lastIndexOf(0x0a, at - 1);
  const from = at + 1;
  return from === 0 ? part : { ...part, bytes: bytes.subarray(from), from: part.from + from };
}
