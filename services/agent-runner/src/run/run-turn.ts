import { SkillUnavailable } from '@angelia/config';
import type { AgentConfig, Config, EventData } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import { agentCall, agentTools } from '@angelia/session';
import { type Loaded, withSpan } from '@angelia/sessions';
import { LONGEST_TIMER_MS } from '@angelia/waiting';
import { SpanStatusCode } from '@opentelemetry/api';
import { runCommand } from '../agents/command/command-agent.ts';
import { type HttpAgentDeps, runHttp } from '../agents/http/http-agent.ts';
import { type LlmDeps, runLlm } from '../agents/llm/llm-agent.ts';
import { ModelsFailed } from '../agents/llm/model-fallback.ts';
import type { Claim } from '../claim/claim.ts';
import { ToolsetProblem } from '../tools/tool-set.ts';
import { ClaimedRun, type ClaimedRunDeps, NotOurs, type Run } from './claimed-run.ts';
import { goneSince } from './config-drift.ts';
import { stillWorking } from './still-working.ts';
import type { StopReason, StopSwitch } from './stop-switch.ts';

export interface RunDeps extends ClaimedRunDeps, LlmDeps, HttpAgentDeps {
  readonly config: Config;
  readonly logger: Logger;
}

/**
 * A claimed run, from `run.started` to its last event: the agent works, and whatever comes of it is recorded: its
 * answer, its failure, its interruption. The last append gives the lease back. Returns the session as it was then; null
 * when the run was not ours to end.
 */
export async function runTurn(claim: Claim, stop: StopSwitch, deps: RunDeps): Promise<Loaded | null> {
  const { created } = claim.loaded.state;
  const name = created?.agent ?? '';
  const { agents } = deps.config;
  const agent = Object.hasOwn(agents, name) ? agents[name] : undefined;
  const run = new ClaimedRun(claim, stop, deps);
  const timer = agent && stopAfter(agent.timeout_seconds, stop);
  const hush = agent && stillWorking(run, agent.status_interval_seconds, deps.logger);
  const attempt = (): Promise<Loaded | null> => {
    const gone = goneSince(created, deps.config);
    if (gone !== null) return run.fail(gone.code, gone.message);
    if (agent === undefined) return run.fail('agent_missing', `agent ${name} is not in the config any more`);
    return carryOut(run, agent, stop, deps);
  };
  try {
    return await withSpan(
      `run ${name}`,
      {
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': name,
          'gen_ai.conversation.id': run.sessionId,
          'angelia.generation': run.generation,
          'angelia.resumed': claim.loaded.state.run?.resumed ?? false,
        },
        parent: created?.traceparent ?? undefined,
        links: coalescedInto(claim),
      },
      async (span) => {
        const ended = await attempt();
        const failed = failureOf(ended, run.generation);
        // A collector that keeps errors keeps this one, also when no call of a model failed (max_steps, timeout).
        if (failed !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: failed });
        return ended;
      },
    );
  } finally {
    clearTimeout(timer);
    hush?.();
    run.letGo();
  }
}

/** The code that this run failed with; null: it did not, or was not ours to end. */
function failureOf(ended: Loaded | null, generation: number): string | null {
  const failed = ended?.events.findLast(({ type }) => type === 'run.failed');
  const data = failed?.data as EventData<'run.failed'> | undefined;
  return data?.generation === generation ? data.code : null;
}

/** The webhooks whose input this turn took over: each has a trace of its own. */
function coalescedInto({ loaded, turn }: Claim): string[] {
  return loaded.events.flatMap(({ type, data }) => {
    if (type !== 'webhook.coalesced') return [];
    const coalesced = data as EventData<'webhook.coalesced'>;
    return coalesced.turn === turn && coalesced.traceparent !== null ? [coalesced.traceparent] : [];
  });
}

async function carryOut(
  run: Run,
  agent: AgentConfig,
  stop: StopSwitch,
  deps: RunDeps,
): Promise<Loaded | null> {
  try {
    return await work(run, agent, deps);
  } catch (error) {
    return stop.reason === null ? failed(run, error, deps) : stopped(run, stop.reason, deps);
  }
}

function work(run: Run, agent: AgentConfig, deps: RunDeps): Promise<Loaded | null> {
  const begun = begunBy(run);
  if (begun !== null && begun !== agent.kind) {
    const message = `this turn was begun by an agent of kind ${begun}, and is not begun again by one of kind ${agent.kind}`;
    return run.fail('agent_lost', message);
  }
  switch (agent.kind) {
    case 'llm':
      return runLlm(run, agent, deps);
    case 'command':
      return runCommand(run, agent);
    case 'http':
      return runHttp(run, agent, deps);
  }
}

/** What has worked on this turn before us; its kind may have been changed in the config since. Null: nobody has. */
function begunBy({ loaded, turn: number }: Run): AgentConfig['kind'] | null {
  const turn = loaded.state.turns.find((open) => open.turn === number);
  if (turn === undefined) return null;
  const call = agentCall(turn);
  if (call !== null) return call.tool === agentTools.command ? 'command' : 'http';
  return turn.step > 0 ? 'llm' : null;
}

function failed(run: Run, error: unknown, { logger }: RunDeps): Promise<Loaded | null> {
  if (error instanceof NotOurs) return Promise.resolve(null);
  if (error instanceof ModelsFailed || error instanceof ToolsetProblem) {
    return run.fail(error.code, error.message);
  }
  if (error instanceof SkillUnavailable) return run.fail('skill_unavailable', error.message);
  logger.error({ err: error, session_id: run.sessionId }, 'a run failed for a reason of our own');
  return run.fail('internal', error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}

async function stopped(run: Run, stop: StopReason, { logger }: RunDeps): Promise<Loaded | null> {
  const { generation } = run;
  switch (stop.kind) {
    case 'over':
      return run.loaded;
    case 'timeout':
      return run.fail('timeout', 'the run took longer than the timeout_seconds of its agent');
    case 'drain':
      return run.end([{ type: 'interrupt-run', generation, reason: 'drain' }]);
    case 'lease_lost':
      logger.warn(
        { session_id: run.sessionId, generation, loss: stop.loss },
        'the lease of a run was lost: its work was given up',
      );
      if (stop.loss === 'taken') return null;
      // If nobody took over while Postgres was away, say that it was no fault of the run (not counted as an attempt).
      // However late that can be said: how long it was away is asked anew for each try.
      return run.end(() => [
        {
          type: 'interrupt-run',
          generation,
          reason: 'infrastructure',
          silentSeconds: run.silentSeconds(),
        },
      ]);
  }
}

function stopAfter(seconds: number, stop: StopSwitch): NodeJS.Timeout {
  return setTimeout(
    () => stop.press({ kind: 'timeout' }),
    Math.min(seconds * 1000, LONGEST_TIMER_MS),
  ).unref();
}
