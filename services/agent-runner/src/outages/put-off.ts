import type { CurrentConfig } from '@angelia/config';
import type { AgentConfig, HolderId, SessionId } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import {
  agentCall,
  decideAll,
  type OpenTurn,
  type PutOffPlan,
  planPutOff,
  type Recovery,
  type RetryPolicy,
  type UnusableModel,
  waitIsOver,
} from '@angelia/session';
import type { Loaded, Sessions } from '@angelia/sessions';
import { isAsJudged } from '../claim/claim.ts';
import type { CallFailure } from '../retry-call.ts';
import { nextStatus, type Run } from '../run/claimed-run.ts';
import type { FailureCode } from '../run/failures.ts';
import { type AskingAgent, modelsOf } from './asked-models.ts';
import { type ModelCircuits, ModelPaused } from './model-circuits.ts';
import { givenUpText, waitingText } from './wait-texts.ts';

export interface PutOffDeps {
  readonly config: CurrentConfig;
  readonly sessions: Pick<Sessions, 'execute' | 'now' | 'clock'>;
  readonly circuits: ModelCircuits;
  readonly holder: HolderId;
}

/** 0 of `max_seconds`: the agent does not wait, and calls its models whatever other sessions have seen. */
export function waitsForModels(agent: AgentConfig): agent is AskingAgent {
  return agent.kind !== 'command' && agent.retry.max_seconds > 0;
}

/**
 * Puts off a turn whose models are all known to be down: no call, no lease, no slot. One append holds the whole run. True:
 * there is nothing else to do with the session now.
 */
export async function putOffUnclaimed(
  loaded: Loaded,
  { turn, resumed, attempt, takeover }: Extract<Recovery, { action: 'resume' }>,
  deps: PutOffDeps,
): Promise<boolean> {
  const { agents } = deps.config.current;
  const name = loaded.state.created?.agent ?? '';
  const agent = Object.hasOwn(agents, name) ? agents[name] : undefined;
  const head = loaded.state.turns[0];
  if (agent === undefined || head === undefined || !waitsForModels(agent) || !asksNext(head)) return false;
  const unusable = deps.circuits.admit(loaded.id, modelsOf(name, agent), head.putOff ?? null);
  if (unusable === null) return false;
  const now = await deps.sessions.now();
  const policy = retryPolicy(agent);
  // Its run fails, and tells the user.
  if (waitIsOver(loaded.state, now, policy)) return false;
  const plan = planPutOff(head, unusable, now, policy, Math.random());
  if (plan.action !== 'put-off') return false;
  const generation = loaded.state.generation + 1;
  const text = statusOf(plan, agent, now);
  await deps.sessions.execute(
    loaded.id,
    ({ state }) =>
      isAsJudged(state, loaded.state)
        ? decideAll(state, [
            { type: 'start-run', generation, turn, runner: deps.holder, resumed, attempt, takeover },
            ...(text === null
              ? []
              : [{ type: 'interim-status', generation, sequence: 1, kind: 'waiting', text } as const]),
            { ...plan.command, generation },
          ])
        : null,
    { loaded },
  );
  return true;
}

/** Ends a run whose models could not be used. It is put off, or fails if its wait is over. */
export function putOffOrFail(
  run: Run,
  agent: AskingAgent,
  failed: { readonly code: FailureCode; readonly message: string; readonly models: readonly UnusableModel[] },
  { sessions }: Pick<PutOffDeps, 'sessions'>,
): Promise<Loaded | null> {
  const head = run.loaded.state.turns.find((open) => open.turn === run.turn);
  // Waiting would not help: every model refuses this request.
  if (failed.models.length === 0 || head === undefined) {
    return run.fail(failed.code, failed.message, givenUpText(agent.kind, null));
  }
  const now = sessions.clock.now();
  const plan = planPutOff(head, failed.models, now, retryPolicy(agent), Math.random());
  if (plan.action === 'give-up') {
    return run.fail(failed.code, failed.message, givenUpText(agent.kind, plan.reason));
  }
  const { generation } = run;
  const text = statusOf(plan, agent, now);
  const { models, ...command } = plan.command;
  const storable = models.map((model) => ({ ...model, message: toStorable(model.message) }));
  return run.end(() => [
    ...(text === null ? [] : [nextStatus(run.loaded.state, generation, 'waiting', text)]),
    { ...command, models: storable, generation },
  ]);
}

/** Why a model could not be used. Null: it refuses this request, so waiting does not help. */
export function asUnusable(
  model: string,
  session: SessionId,
  failure: CallFailure,
  circuits: ModelCircuits,
): UnusableModel | null {
  const { reason, code, message, retryAfterMs } = failure;
  if (reason === null) return null;
  const called = !(failure instanceof ModelPaused);
  return { model, reason, code, message, called, retryAfterMs, pausedMs: circuits.pausedMs(model, session) };
}

/** The next thing that the turn needs is an answer of a model, and not the result of a tool or the end of the turn. */
function asksNext(turn: OpenTurn): boolean {
  const call = agentCall(turn);
  if (call !== null) return call.status !== 'done';
  return !turn.completing && turn.calls.every(({ status }) => status === 'done');
}

function retryPolicy({ retry }: AskingAgent): RetryPolicy {
  return { scheduleSeconds: retry.schedule_seconds, maxSeconds: retry.max_seconds };
}

function statusOf(plan: Extract<PutOffPlan, { action: 'put-off' }>, agent: AskingAgent, now: number) {
  return plan.tell ? waitingText(agent.kind, plan.command.reason, plan.command.retryAt, now) : null;
}
