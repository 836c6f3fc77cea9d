import { SkillUnavailable } from '@angelia/config';
import type { AgentConfig, Config } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import { agentCall, agentTools } from '@angelia/session';
import { isTracing, type Loaded, withinTrace } from '@angelia/sessions';
import { LONGEST_TIMER_MS } from '@angelia/waiting';
import { runCommand } from './agents/command/command-agent.ts';
import { type HttpAgentDeps, runHttp } from './agents/http/http-agent.ts';
import { type LlmDeps, runLlm } from './agents/llm/llm-agent.ts';
import { ModelsFailed } from './agents/llm/model-fallback.ts';
import type { Claim } from './claim/claim.ts';
import { type PutOffDeps, putOffOrFail } from './outages/put-off.ts';
import { ClaimedRun, type ClaimedRunDeps, type Run, RunOver } from './run/claimed-run.ts';
import { findConfigDrift } from './run/config-drift.ts';
import { traceOfRun, traceRunEnd } from './run/run-trace.ts';
import { reportStillWorking } from './run/still-working.ts';
import type { StopReason, StopSwitch } from './run/stop-switch.ts';
import { ToolsetError } from './tools/tool-set.ts';

export interface RunDeps extends ClaimedRunDeps, LlmDeps, HttpAgentDeps {
  readonly config: Config;
  readonly sessions: PutOffDeps['sessions'];
  readonly logger: Logger;
}

/**
 * Takes a claimed run from `run.started` to its last event. The agent works, and the result is recorded: its answer, its
 * failure or its interruption. The last append gives the lease back. Returns the session as it was then; null when the
 * run was not ours to end.
 */
export async function runTurn(claim: Claim, stop: StopSwitch, deps: RunDeps): Promise<Loaded | null> {
  const trace = isTracing() ? traceOfRun(claim.loaded, claim.generation) : undefined;
  const ended = await (trace === undefined
    ? carryOutClaim(claim, stop, deps)
    : withinTrace(trace, () => carryOutClaim(claim, stop, deps)));
  if (ended !== null) traceRunEnd(claim.loaded, ended, deps.config, 'runner');
  return ended;
}

async function carryOutClaim(claim: Claim, stop: StopSwitch, deps: RunDeps): Promise<Loaded | null> {
  const { created } = claim.loaded.state;
  const name = created?.agent ?? '';
  const { agents } = deps.config;
  const agent = Object.hasOwn(agents, name) ? agents[name] : undefined;
  const run = new ClaimedRun(claim, stop, deps);
  const timer = agent && stopAfter(limitOf(agent, deps.config), stop);
  const stopReporting = agent && reportStillWorking(run, agent.status_interval_seconds, deps.logger);
  try {
    const drift = findConfigDrift(created, deps.config);
    if (drift !== null) return await run.fail(drift.code, drift.message);
    if (agent === undefined)
      return await run.fail('agent_missing', `agent ${name} is not in the config any more`);
    return await carryOut(run, agent, stop, deps);
  } finally {
    clearTimeout(timer);
    stopReporting?.();
    run.release();
  }
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
    return stop.reason === null ? recordFailure(run, agent, error, deps) : recordStop(run, stop.reason, deps);
  }
}

function work(run: Run, agent: AgentConfig, deps: RunDeps): Promise<Loaded | null> {
  const kind = kindAtWork(run);
  if (kind !== null && kind !== agent.kind) {
    const message = `an agent of kind ${kind} started this turn, and an agent of kind ${agent.kind} does not start it again`;
    return run.fail('agent_lost', message);
  }
  switch (agent.kind) {
    case 'llm':
      return runLlm(run, agent, deps);
    case 'command':
      return runCommand(run);
    case 'http':
      return runHttp(run, agent, deps);
  }
}

/** The kind of agent that worked on this turn before; the config may have changed it since. Null: none did. */
function kindAtWork({ loaded, turn: number }: Run): AgentConfig['kind'] | null {
  const turn = loaded.state.turns.find((open) => open.turn === number);
  if (turn === undefined) return null;
  const call = agentCall(turn);
  if (call !== null) return call.tool === agentTools.command ? 'command' : 'http';
  return turn.step > 0 ? 'llm' : null;
}

function recordFailure(
  run: Run,
  agent: AgentConfig,
  error: unknown,
  { logger, sessions }: RunDeps,
): Promise<Loaded | null> {
  if (error instanceof RunOver) return Promise.resolve(null);
  if (error instanceof ModelsFailed && agent.kind === 'llm') {
    return putOffOrFail(run, agent, error, { sessions });
  }
  if (error instanceof ToolsetError) return run.fail(error.code, error.message);
  if (error instanceof SkillUnavailable) return run.fail('skill_unavailable', error.message);
  logger.error({ err: error, session_id: run.sessionId }, 'run failed with an internal error');
  return run.fail('internal', error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}

async function recordStop(run: Run, stop: StopReason, { logger }: RunDeps): Promise<Loaded | null> {
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
        'lease of a run lost; its work was given up',
      );
      if (stop.loss === 'taken') return null;
      // If nobody took over while Postgres was away, record that the run was not at fault: this is not counted as an
      // attempt. Each try of the append computes anew how long Postgres was away.
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

/**
 * process-watcher ends a program at the same limit, and its report says why. A run that ended first would drop that. After
 * `lease_seconds` a service that says nothing counts as gone everywhere.
 */
function limitOf(agent: AgentConfig, { timing }: Config): number {
  return agent.timeout_seconds + (agent.kind === 'command' ? timing.lease_seconds : 0);
}

function stopAfter(seconds: number, stop: StopSwitch): NodeJS.Timeout {
  return setTimeout(
    () => stop.press({ kind: 'timeout' }),
    Math.min(seconds * 1000, LONGEST_TIMER_MS),
  ).unref();
}
