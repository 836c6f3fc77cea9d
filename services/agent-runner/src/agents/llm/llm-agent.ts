import type { Config, EventData, LlmAgentConfig } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import { cutAnswer, isSilent, type OpenTurn, pendingAnswer } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import { abortable } from '@angelia/waiting';
import type { ModelReply } from '../../models/model.ts';
import type { Models } from '../../models/provide-models.ts';
import type { ModelCircuits } from '../../outages/model-circuits.ts';
import { nextStatus, type Run } from '../../run/claimed-run.ts';
import type { FailureCode } from '../../run/failures.ts';
import { type Toolsets, toolsOf } from '../../tools/tool-set.ts';
import { type AskDeps, askOrCompress } from './ask-or-compress.ts';
import { withUniqueIds } from './asked-calls.ts';
import { FallbackModels, ModelsFailed } from './model-fallback.ts';
import { finishToolCalls, startCommands, type ToolDeps } from './tool-step.ts';

export interface LlmDeps {
  readonly config: Pick<Config, 'directories'>;
  readonly models: Pick<Models, 'get'>;
  readonly toolsets: Toolsets;
  readonly circuits: ModelCircuits;
  readonly logger: Logger;
  readonly watcherGraceSeconds?: number | undefined;
}

/**
 * Runs a model and its tools, step by step, until the model answers. The next step is read from the stream, so that a
 * run that follows a lost one enters the loop where that one left it:
 *
 *   calls without a result --> finished (tool-step.ts), or a person is asked: the run ends and the session waits
 *   an answer without its final response --> finishes the turn; the model is not asked again (C13)
 *   else --> the model is asked, within max_steps and budget:
 *              tool calls --> recorded and started in one append; the text beside them is an interim status
 *              none       --> recorded with the final response and the end, in one append
 *              cut at the model's limit --> recorded; the next step goes on with it, or the limits end it as it is
 */
export async function runLlm(run: Run, agent: LlmAgentConfig, deps: LlmDeps): Promise<Loaded | null> {
  const captured = run.loaded.state.created?.toolsets ?? null;
  // An MCP server may have to be started first, and may not answer.
  const readTools = () => abortable(toolsOf(agent, captured, deps.toolsets), run.signal);
  let tools = await readTools();
  const { logger, watcherGraceSeconds } = deps;
  const models = fallbackModels(run, agent, deps);
  for (;;) {
    const toolDeps: ToolDeps = { agent, tools, logger, watcherGraceSeconds };
    const turn = run.loaded.state.turns.find((open) => open.turn === run.turn);
    if (turn === undefined) return null;
    if (turn.calls.some(({ status }) => status !== 'done')) {
      const asked = await finishToolCalls(run, toolDeps);
      if (asked !== null) return asked.ended;
      continue;
    }
    const text = turn.completing ? pendingAnswer(run.loaded.events) : null;
    if (text !== null) return run.end([{ type: 'finish-turn', generation: run.generation, text }]);
    const cut = cutAnswer(run.loaded.events);
    const spent = limitReached(agent, turn, run.loaded);
    if (spent !== null) {
      return cut === null ? run.fail(spent.code, spent.message) : finishCut(run, cut);
    }
    // Between two steps, never between a call and its result.
    if ([...tools.values()].some((tool) => tool.isOutdated?.())) {
      tools = await readTools();
      continue;
    }
    const asking = { ...askDeps(agent, tools, deps), models };
    const askedAt = performance.now();
    const answered = await askOrCompress(run, asking).catch((error: unknown) => {
      // The model refuses to go on, for instance because it has no tokens left: waiting does not help.
      if (cut !== null && error instanceof ModelsFailed && error.models.length === 0)
        return 'refused' as const;
      throw error;
    });
    if (answered === 'refused') return finishCut(run, cut ?? '');
    run.assertHeld();
    // The conversation was compressed, which took tokens.
    if (answered === null) continue;
    const { model } = answered;
    const reply = { ...answered.reply, durationMs: Math.round(performance.now() - askedAt) };
    if (reply.toolCalls.length > 0) {
      await recordStep(run, turn, { model, reply }, cut ?? '', toolDeps);
    } else if (reply.finishReason === 'length') {
      await run.append([{ ...response(run, model, turn, reply), toBeContinued: true }]);
    } else {
      return answer(run, model, turn, reply, cut ?? '');
    }
  }
}

function limitReached(
  agent: LlmAgentConfig,
  turn: OpenTurn,
  { state }: Loaded,
): { code: FailureCode; message: string } | null {
  if (turn.step >= agent.max_steps) {
    return { code: 'max_steps', message: `the turn has taken the ${agent.max_steps} steps that it may` };
  }
  const { max_tokens } = agent.budget;
  if (state.usage.input_tokens + state.usage.output_tokens >= max_tokens) {
    return { code: 'budget', message: `the session has used up the ${max_tokens} tokens of its budget` };
  }
  return null;
}

function askDeps(agent: LlmAgentConfig, tools: ToolDeps['tools'], deps: LlmDeps): Omit<AskDeps, 'models'> {
  return {
    agent,
    tools: [...tools.values()].map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    })),
    aboutTools: aboutTools(tools),
    skillsDirectory: deps.config.directories.skills,
  };
}

/** What the servers of the tools say about them, once for each server. */
function aboutTools(tools: ToolDeps['tools']): string[] {
  const servers = new Map<string, string>();
  for (const { instructions } of tools.values()) {
    if (instructions !== undefined) servers.set(instructions.server, instructions.text);
  }
  return [...servers].map(
    ([server, text]) => `# Tools whose names begin with mcp__${server}__: what their server says\n\n${text}`,
  );
}

function fallbackModels(run: Run, agent: LlmAgentConfig, deps: LlmDeps): FallbackModels {
  return new FallbackModels(agent, {
    models: deps.models,
    assertHeld: () => {
      run.assertHeld();
      return run.signal;
    },
    logger: deps.logger,
    sessionId: run.sessionId,
    circuits: deps.circuits,
    onFallback: async (name) => {
      const text = `Primary model failed, switching to fallback: ${name}`;
      if (!wasReported(run, text)) await run.reportStatus('fallback', text);
    },
  });
}

/** An earlier run of this turn, which was lost, may have reported it: the user need not read it twice. */
function wasReported({ loaded, turn }: Run, text: string): boolean {
  return loaded.events.some(({ type, data }) => {
    if (type !== 'session.interim-status') return false;
    const status = data as EventData<'session.interim-status'>;
    return status.turn === turn && status.kind === 'fallback' && status.text === text;
  });
}

interface TimedReply extends ModelReply {
  /** With repeated calls and other models that failed. */
  readonly durationMs: number;
}

/** @param before the beginning of the answer, from earlier steps */
function answer(
  run: Run,
  model: string,
  turn: OpenTurn,
  reply: TimedReply,
  before: string,
): Promise<Loaded | null> {
  const recorded = response(run, model, turn, reply);
  const text = `${before}${recorded.text}`;
  return run.end([recorded, { type: 'finish-turn', generation: run.generation, text }]);
}

const CUT_NOTE = '[The answer ends here, because it is longer than allowed.]';

/** The user gets what there is. */
function finishCut(run: Run, text: string): Promise<Loaded | null> {
  const marked = `${text}\n\n${CUT_NOTE}`;
  return run.end([{ type: 'finish-turn', generation: run.generation, text: marked, cut: true }]);
}

/** Records the answer and starts the calls that it asks for, in one append. */
async function recordStep(
  run: Run,
  turn: OpenTurn,
  { model, reply }: { readonly model: string; readonly reply: TimedReply },
  before: string,
  { tools }: ToolDeps,
): Promise<void> {
  const step = turn.step + 1;
  const toolCalls = withUniqueIds(reply.toolCalls, run.loaded.events, { turn: run.turn, step });
  const asked = toolCalls.map(({ id, name, arguments: args }, index) => ({
    id,
    tool: name,
    status: 'asked' as const,
    startedIn: null,
    startedAt: null,
    arguments: args,
    index,
    isCut: reply.finishReason === 'length' && index === toolCalls.length - 1,
  }));
  const recorded = { ...response(run, model, turn, reply), toolCalls };
  const starts = startCommands(asked, tools, run.generation, run.loaded.state);
  const said = `${before}${reply.text}`;
  await run.append((state) => [
    recorded,
    // Text beside the calls is the agent's own status, for the people who wait.
    ...(isSilent(said) ? [] : [nextStatus(state, run.generation, 'agent', said)]),
    ...starts,
  ]);
}

function response(
  run: Run,
  model: string,
  turn: OpenTurn,
  { text, finishReason, usage, reasoning, durationMs }: TimedReply,
) {
  return {
    type: 'record-model-response',
    generation: run.generation,
    step: turn.step + 1,
    model,
    text: toStorable(text),
    finishReason,
    usage,
    durationMs,
    ...(reasoning === undefined ? {} : { reasoning }),
  } as const;
}
