import type { LlmAgentConfig } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import { type FinishTool, type SessionCommand, UNKNOWN_RESULT, WATCHER_TOOLS } from '@angelia/session';
import { type Loaded, withSpan } from '@angelia/sessions';
import { abortable } from '@angelia/waiting';
import type { Run } from '../../run/claimed-run.ts';
import { processTool } from '../../tools/background-process.ts';
import { terminalTool } from '../../tools/terminal.ts';
import type { RunnerTool, Tool, ToolResult, WatcherTool } from '../../tools/tool.ts';
import type { ToolSet } from '../../tools/tool-set.ts';
import { type AskedCall, askedCalls, outcomeOf } from './asked-calls.ts';

/**
 * The tool calls of one model answer. The stream says what is left to do, so that a run that takes over goes on in
 * the middle of a step:
 *
 *   asked --arguments or name of no use--> done (error), without being begun
 *         --tool.started--> started     all that run in parallel at once; the others one by one, in the model's order
 *   started, by this run                carried out, or waited for: done
 *   started, by a lost run              runner's: done (unknown), never begun again (C14); watcher's: waited for
 *   asked, for a person                 last, when nothing else is under way: ends this run, the session waits
 */

/** A model that asks for more at once is out of its mind: the surplus is answered with an error. */
const MOST_CALLS = 32;
/**
 * How long after a call's own time limit the watcher's result is still waited for: it may have been restarted, or
 * have been busy when the call came. A result that is even later is not lost to the log's readers, only to the model.
 */
const GRACE_SECONDS = 60;
/** In characters, about 50,000 tokens. A tool has a smaller cap of its own; this one keeps events small. */
const LONGEST_RESULT = 200_000;

export interface ToolDeps {
  readonly agent: LlmAgentConfig;
  readonly tools: ToolSet;
  readonly logger: Logger;
  /** Default: see GRACE_SECONDS. */
  readonly watcherGraceSeconds?: number | undefined;
}

/**
 * What begins the calls of a model answer: goes into the same append as the answer. Empty: nothing can be begun, all
 * that is left is for a person.
 */
export function startCommands(
  asked: readonly AskedCall[],
  tools: ToolSet,
  generation: number,
): SessionCommand[] {
  const refused: SessionCommand[] = [];
  const parallel: SessionCommand[] = [];
  const sequential: SessionCommand[] = [];
  for (const call of asked) {
    const found = usable(call, tools);
    if ('problem' in found) {
      refused.push(finish(generation, call.id, { outcome: 'error', result: found.problem }));
    } else if (found.tool.by !== 'user') {
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
  return [...refused, ...(parallel.length > 0 ? parallel : sequential.slice(0, 1))];
}

/**
 * Brings every call of the last model answer to its result. Null: all have one, the model can be asked again.
 * Otherwise a person was asked, which ended the run, as it stands in `ended`.
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
    const commands = startCommands(asked, deps.tools, run.generation);
    if (commands.length > 0) {
      run.assertHeld();
      await run.append(commands);
      continue;
    }
    return { ended: await askPerson(run, first, deps) };
  }
}

type Usable = { readonly tool: Tool; readonly args: unknown } | { readonly problem: string };

function usable(call: AskedCall, tools: ToolSet): Usable {
  if (call.index >= MOST_CALLS) {
    return { problem: `Not carried out: at most ${MOST_CALLS} calls can be made at once.` };
  }
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
    // Some models write nothing when there is nothing to say.
    const args: unknown = written.trim() === '' ? {} : JSON.parse(written);
    if (typeof args === 'object' && args !== null && !Array.isArray(args)) return { args };
    return { problem: 'The arguments must be a JSON object.' };
  } catch (error) {
    return { problem: `The arguments are no valid JSON: ${error instanceof Error ? error.message : error}` };
  }
}

/** All that were begun: those of this run are carried out, those of a lost one are looked after. */
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
    // The run is over: what still runs beside it is stopped, and heard out before the next thing is done.
    cut.abort(error);
    await Promise.allSettled(work);
    throw error;
  }
}

/** By the GenAI conventions of OpenTelemetry; arguments and results stay out of it. */
function carryOut(run: Run, call: AskedCall, signal: AbortSignal, deps: ToolDeps): Promise<void> {
  return withSpan(
    `tool ${call.tool}`,
    {
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': call.tool,
        'gen_ai.tool.call.id': call.id,
        'gen_ai.tool.type': isWatchers(call) ? 'function' : 'extension',
        'gen_ai.conversation.id': run.sessionId,
      },
    },
    async (span) => {
      const outcome = isWatchers(call)
        ? await waitForWatcher(run, call, signal, deps)
        : await runHere(run, call, signal, deps);
      if (outcome !== 'ok') span.setAttribute('error.type', outcome === 'error' ? 'tool_error' : outcome);
    },
  );
}

async function runHere(run: Run, call: AskedCall, signal: AbortSignal, deps: ToolDeps): Promise<string> {
  const { tool, args } = mustBeUsable(call, deps.tools);
  run.assertHeld();
  const result = await resultOf(tool, args, { sessionId: run.sessionId, callId: call.id, signal }, deps);
  await run.append([finish(run.generation, call.id, result)]);
  return result.outcome;
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
    logger.warn({ err: error, session_id: call.sessionId, tool: tool.name }, 'a tool call failed');
    return { outcome: 'error', result: error instanceof Error ? error.message : String(error) };
  }
}

/** Its `tool.finished` comes into the stream from process-watcher, which also outlives a runner. */
async function waitForWatcher(
  run: Run,
  call: AskedCall,
  signal: AbortSignal,
  { tools, watcherGraceSeconds = GRACE_SECONDS }: ToolDeps,
): Promise<string> {
  const limitMs = (limitOf(call, tools) + watcherGraceSeconds) * 1000;
  // What an earlier run has waited for it already, by the clock that stamped both events.
  const waitedMs = Math.max(0, (run.loaded.state.run?.startedAt ?? 0) - (call.startedAt ?? 0));
  const until = performance.now() + limitMs - waitedMs;
  const outcome = await abortable(
    run.waitFor((loaded) => outcomeOf(loaded, run.turn, call.id), until),
    signal,
  );
  if (outcome !== null) return outcome;
  await recordUnknown(run, [call]);
  return 'unknown';
}

async function recordUnknown(run: Run, calls: readonly AskedCall[]): Promise<void> {
  await run.append(
    calls.map(({ id }) => finish(run.generation, id, { outcome: 'unknown', result: UNKNOWN_RESULT })),
  );
}

async function askPerson(run: Run, call: AskedCall, { agent, tools }: ToolDeps): Promise<Loaded | null> {
  const found = usable(call, tools);
  if ('problem' in found || found.tool.by !== 'user') throw new Error(`call ${call.id} is for no person`);
  run.assertHeld();
  return found.tool.ask(found.args, { run, agent, callId: call.id });
}

function mustBeUsable(
  call: AskedCall,
  tools: ToolSet,
): { readonly tool: RunnerTool; readonly args: unknown } {
  const found = usable(call, tools);
  // It was checked before it was begun, by this very run.
  if ('problem' in found || found.tool.by !== 'runner') throw new Error(`call ${call.id} cannot be run here`);
  return { tool: found.tool, args: found.args };
}

const isWatchers = (call: AskedCall): boolean => WATCHER_TOOLS.includes(call.tool);

/** Also when the toolset was taken from the agent since: what was begun has its result. */
function limitOf(call: AskedCall, tools: ToolSet): number {
  const tool = tools.get(call.tool) ?? [terminalTool, processTool].find(({ name }) => name === call.tool);
  const parsed = parsedArguments(call.arguments);
  const known = tool?.by === 'watcher' && 'args' in parsed && tool.check(parsed.args) === null;
  return known ? (tool as WatcherTool).limitSeconds(parsed.args) : 0;
}

function finish(
  generation: number,
  callId: string,
  { outcome, result }: { readonly outcome: FinishTool['outcome']; readonly result: string },
): FinishTool {
  return { type: 'finish-tool', generation, callId, outcome, result: storable(bounded(result)) };
}

function bounded(result: string): string {
  if (result.length <= LONGEST_RESULT) return result;
  const cut = result.length - LONGEST_RESULT;
  return `${result.slice(0, LONGEST_RESULT)}\n[${cut} more characters were left out.]`;
}
