import type { LlmAgentConfig } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import {
  type FinishTool,
  type Permission,
  permissionOf,
  type SessionCommand,
  type SessionState,
  UNKNOWN_RESULT,
  WATCHER_TOOLS,
} from '@angelia/session';
import { isTracing, type Loaded, withinTrace } from '@angelia/sessions';
import { abortable } from '@angelia/waiting';
import { nestsTooDeep } from '../../models/nesting.ts';
import type { Run } from '../../run/claimed-run.ts';
import { traceOfCall } from '../../run/run-trace.ts';
import { processTool } from '../../tools/background-process.ts';
import { terminalTool } from '../../tools/terminal.ts';
import type { RunnerTool, Tool, ToolImage, ToolResult, WatcherTool } from '../../tools/tool.ts';
import type { ToolSet } from '../../tools/tool-set.ts';
import { type AskedCall, askedCalls, outcomeOf } from './asked-calls.ts';

/**
 * The tool calls of one model answer. The stream says what is left to do, so that a run that takes over continues in the
 * middle of a step:
 *
 *   asked --unknown tool or bad arguments--> done (error), not started
 *         --the policy denies it--> done (error), not started
 *         --the policy asks about it--> ends this run, the session waits for a decision; approved, it is asked again
 *         --tool.started--> started     parallel calls all at once; the others one by one, in the model's order
 *   started by this run                 carried out, or waited for: done
 *   started by a lost run               runner's: done (unknown), never started again (C14); watcher's: waited for
 *   asked, for a person                 last, when no other call is in progress: ends this run, the session waits
 */

/** No sensible answer has more calls. The surplus is answered with an error. */
const MOST_CALLS = 32;
/**
 * How long after a call's own time limit the run still waits for the watcher's result: the watcher may have restarted,
 * or been busy when the call came. A later result is still in the log, but the model does not see it.
 */
const GRACE_SECONDS = 60;
/** In characters, about 50,000 tokens. Tools have smaller caps of their own; this one keeps events small. */
const LONGEST_RESULT = 200_000;

export interface ToolDeps {
  readonly agent: LlmAgentConfig;
  readonly tools: ToolSet;
  readonly logger: Logger;
  /** Default: see GRACE_SECONDS. */
  readonly watcherGraceSeconds?: number | undefined;
}

/**
 * The commands that start the calls of a model answer, for the same append as the answer. Empty: none can be started; the
 * rest is for a person.
 * @param state before the answer: a call that was just asked for has no approval of its own
 */
export function startCommands(
  asked: readonly AskedCall[],
  tools: ToolSet,
  generation: number,
  state: SessionState,
): SessionCommand[] {
  const refused: SessionCommand[] = [];
  const parallel: SessionCommand[] = [];
  /** Null: it needs an approval first, and those after it wait for it. */
  const sequential: (SessionCommand | null)[] = [];
  for (const call of asked) {
    const found = checkCall(call, tools);
    if ('problem' in found) {
      refused.push(finish(generation, call.id, { outcome: 'error', result: found.problem }));
    } else if (found.tool.by !== 'user') {
      const permission = permissionOfCall(state, call);
      const refusal = refusalOf(permission);
      if (refusal !== null) {
        refused.push(finish(generation, call.id, { outcome: 'error', result: refusal }));
        continue;
      }
      if (permission.kind === 'ask') {
        if (!found.tool.parallel) sequential.push(null);
        continue;
      }
      const start = {
        type: 'start-tool',
        generation,
        callId: call.id,
        tool: found.tool.name,
        arguments: call.arguments,
      } as const;
      (found.tool.parallel ? parallel : sequential).push(start);
    }
  }
  const next = sequential[0] ?? null;
  return [...refused, ...(parallel.length > 0 ? parallel : next === null ? [] : [next])];
}

/**
 * Finishes every call of the last model answer. Null: all have their results, and the model can be asked again.
 * Otherwise a person was asked, which ended the run; `ended` is the session after that.
 */
export async function finishToolCalls(run: Run, deps: ToolDeps): Promise<{ ended: Loaded | null } | null> {
  for (;;) {
    const calls = askedCalls(run.loaded, run.turn);
    const started = calls.filter(({ status }) => status === 'started');
    if (started.length > 0) {
      await carryOutAll(run, started, deps);
      continue;
    }
    const asked = calls.filter(({ status }) => status === 'asked');
    const first = asked[0];
    if (first === undefined) return null;
    const commands = startCommands(asked, deps.tools, run.generation, run.loaded.state);
    if (commands.length > 0) {
      run.assertHeld();
      await run.append(commands);
      continue;
    }
    return { ended: await askPerson(run, first, deps) };
  }
}

/** Why a call does not run, for the model. Null: it may run, or a person is asked. */
function refusalOf(permission: Permission): string | null {
  switch (permission.kind) {
    case 'denied':
      return 'This call was not carried out: the policy for your tools denies it. Do not try to get around that.';
    case 'changed':
      return 'This call was not carried out: its arguments are not those that were approved.';
    default:
      return null;
  }
}

function permissionOfCall(state: SessionState, call: AskedCall): Permission {
  return permissionOf(state, { callId: call.id, tool: call.tool, arguments: call.arguments });
}

const CUT_CALL =
  'Not carried out: your answer was cut off by the limit of its length in this call, so its arguments may be incomplete. ' +
  'Make the call again. If its arguments are long, split the work.';

type CheckedCall = { readonly tool: Tool; readonly args: unknown } | { readonly problem: string };

function checkCall(call: AskedCall, tools: ToolSet): CheckedCall {
  if (call.index >= MOST_CALLS) {
    return { problem: `Not carried out: at most ${MOST_CALLS} calls can be made at once.` };
  }
  if (call.isCut) return { problem: CUT_CALL };
  const tool = tools.get(call.tool);
  if (tool === undefined) {
    const names = [...tools.keys()].join(', ');
    return { problem: `There is no tool ${call.tool}${names === '' ? '.' : `; there are: ${names}.`}` };
  }
  const parsed = parsedArguments(call.arguments);
  if ('problem' in parsed) return parsed;
  const problem = tool.check(parsed.args);
  return problem === null
    ? { tool, args: parsed.args }
    : { problem: `The arguments do not fit the tool ${tool.name}: ${problem}` };
}

function parsedArguments(written: string): { readonly args: unknown } | { readonly problem: string } {
  try {
    // Some models write nothing if a call has no arguments.
    const args: unknown = written.trim() === '' ? {} : JSON.parse(written);
    if (nestsTooDeep(args)) return { problem: 'The arguments nest too deep.' };
    if (typeof args === 'object' && args !== null && !Array.isArray(args)) return { args };
    return { problem: 'The arguments must be a JSON object.' };
  } catch (error) {
    return { problem: `The arguments are not valid JSON: ${error instanceof Error ? error.message : error}` };
  }
}

/** Carries out the calls that this run started, and finishes those of a lost run. */
async function carryOutAll(run: Run, started: readonly AskedCall[], deps: ToolDeps): Promise<void> {
  const cut = new AbortController();
  const signal = AbortSignal.any([run.signal, cut.signal]);
  const lost = started.filter((call) => call.startedIn !== run.generation && !isWatchers(call));
  const work = started
    .filter((call) => !lost.includes(call))
    .map((call) => carryOut(run, call, signal, deps));
  if (lost.length > 0) work.push(recordUnknown(run, lost));
  try {
    await Promise.all(work);
  } catch (error) {
    // The run is over: stop the calls beside this one, and let them end before anything else happens.
    cut.abort(error);
    await Promise.allSettled(work);
    throw error;
  }
}

/** In the trace context of the call's own span, which is exported when the call is over (run-trace.ts). */
function carryOut(run: Run, call: AskedCall, signal: AbortSignal, deps: ToolDeps): Promise<void> {
  const work = () =>
    isWatchers(call) ? waitForWatcher(run, call, signal, deps) : runHere(run, call, signal, deps);
  const trace = isTracing() ? traceOfCall(run.loaded, call.id) : undefined;
  return trace === undefined ? work() : withinTrace(trace, work);
}

async function runHere(run: Run, call: AskedCall, signal: AbortSignal, deps: ToolDeps): Promise<void> {
  const { tool, args } = runnerToolOf(call, deps.tools);
  // Again, right before it acts, on the arguments that it acts on (approved-is-what-runs).
  const permission = permissionOfCall(run.loaded.state, call);
  if (permission.kind !== 'allowed') {
    const result = refusalOf(permission) ?? 'This call was not carried out: it was not approved.';
    await run.append([finish(run.generation, call.id, { outcome: 'error', result })]);
    return;
  }
  run.assertHeld();
  const result = await resultOf(tool, args, { sessionId: run.sessionId, callId: call.id, signal }, deps);
  await run.append([finish(run.generation, call.id, result)]);
}

async function resultOf(
  tool: RunnerTool,
  args: unknown,
  call: Parameters<RunnerTool['run']>[1],
  { logger }: ToolDeps,
): Promise<ToolResult> {
  try {
    return await abortable(tool.run(args, call), call.signal);
  } catch (error) {
    call.signal.throwIfAborted();
    logger.warn({ err: error, session_id: call.sessionId, tool: tool.name }, 'tool call failed');
    return { outcome: 'error', result: error instanceof Error ? error.message : String(error) };
  }
}

/** process-watcher appends `tool.finished`. It outlives this runner. */
async function waitForWatcher(
  run: Run,
  call: AskedCall,
  signal: AbortSignal,
  { tools, watcherGraceSeconds = GRACE_SECONDS }: ToolDeps,
): Promise<void> {
  const limitMs = (limitOf(call, tools) + watcherGraceSeconds) * 1000;
  // How long an earlier run has waited for it already, by the clock that stamped both events.
  const waitedMs = Math.max(0, (run.loaded.state.run?.startedAt ?? 0) - (call.startedAt ?? 0));
  const until = performance.now() + limitMs - waitedMs;
  const outcome = await abortable(
    run.waitFor((loaded) => outcomeOf(loaded, run.turn, call.id), until),
    signal,
  );
  if (outcome === null) await recordUnknown(run, [call]);
}

async function recordUnknown(run: Run, calls: readonly AskedCall[]): Promise<void> {
  await run.append(
    calls.map(({ id }) => finish(run.generation, id, { outcome: 'unknown', result: UNKNOWN_RESULT })),
  );
}

async function askPerson(run: Run, call: AskedCall, { agent, tools }: ToolDeps): Promise<Loaded | null> {
  const found = checkCall(call, tools);
  if ('problem' in found) throw new Error(`call ${call.id} is not for a person`);
  run.assertHeld();
  if (found.tool.by !== 'user') return requestApproval(run, call);
  return found.tool.ask(found.args, { run, agent, callId: call.id });
}

/** Ends the run. The id is the same if the append is repeated: one call asks once. */
function requestApproval(run: Run, call: AskedCall): Promise<Loaded | null> {
  return run.end([
    {
      type: 'request-approval',
      generation: run.generation,
      approvalId: `${run.sessionId}.${(run.loaded.state.approvals ?? 0) + 1}`,
      callId: call.id,
      tool: call.tool,
      arguments: call.arguments,
    },
  ]);
}

function runnerToolOf(
  call: AskedCall,
  tools: ToolSet,
): { readonly tool: RunnerTool; readonly args: unknown } {
  const found = checkCall(call, tools);
  // This run checked the call before it started it.
  if ('problem' in found || found.tool.by !== 'runner') throw new Error(`call ${call.id} cannot be run here`);
  return { tool: found.tool, args: found.args };
}

const isWatchers = (call: AskedCall): boolean => WATCHER_TOOLS.includes(call.tool);

/** A started call is waited for even if the agent has lost the toolset since. */
function limitOf(call: AskedCall, tools: ToolSet): number {
  const tool = tools.get(call.tool) ?? [terminalTool, processTool].find(({ name }) => name === call.tool);
  const parsed = parsedArguments(call.arguments);
  const known = tool?.by === 'watcher' && 'args' in parsed && tool.check(parsed.args) === null;
  return known ? (tool as WatcherTool).limitSeconds(parsed.args) : 0;
}

function finish(
  generation: number,
  callId: string,
  {
    outcome,
    result,
    images = [],
  }: {
    readonly outcome: FinishTool['outcome'];
    readonly result: string;
    readonly images?: readonly ToolImage[];
  },
): FinishTool {
  return {
    type: 'finish-tool',
    generation,
    callId,
    outcome,
    result: toStorable(bounded(result)),
    ...(images.length === 0
      ? {}
      : { images: images.map(({ mimeType, data }) => ({ mime_type: mimeType, data })) }),
  };
}

function bounded(result: string): string {
  if (result.length <= LONGEST_RESULT) return result;
  const cut = result.length - LONGEST_RESULT;
  return `${result.slice(0, LONGEST_RESULT)}\n[${cut} more characters were left out.]`;
}
