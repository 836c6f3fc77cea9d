import { readSkill } from '@angelia/config';
import type { Config, HttpAgentConfig } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import type { CallbackLinks, Logger } from '@angelia/service-kit';
import { agentCall, agentCallId, conversation, fenceInstructions } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import { agentAsModel } from '../../outages/asked-models.ts';
import type { ModelCircuits } from '../../outages/model-circuits.ts';
import { asUnusable, type PutOffDeps, putOffOrFail, waitsForModels } from '../../outages/put-off.ts';
import { CallFailure, retryCall } from '../../retry-call.ts';
import type { Run } from '../../run/claimed-run.ts';
import { endWith, resultOf } from '../agent-result.ts';
import { type AgentAnswer, AgentFailure, type PostToAgent, type Request } from './agent-request.ts';

export interface HttpAgentDeps {
  readonly config: Pick<Config, 'directories'>;
  readonly callbacks: CallbackLinks | null;
  readonly postToAgent: PostToAgent;
  readonly circuits: ModelCircuits;
  readonly sessions: PutOffDeps['sessions'];
  readonly logger: Logger;
}

/** Long enough to read the stream, even slowly. */
const LATE_MS = 500;
/** The time limit of the run ends the wait for a callback. */
const FOR_EVER = Number.POSITIVE_INFINITY;

/**
 * The agent is a service elsewhere. It gets one signed POST and answers with the text (200), or with 202 and later a
 * callback, which ingress records as the call's result. A run that follows a lost one asks again under the same
 * `webhook-id`, so that the agent can recognise the same work.
 */
export async function runHttp(run: Run, agent: HttpAgentConfig, deps: HttpAgentDeps): Promise<Loaded | null> {
  const turn = run.loaded.state.turns.find((open) => open.turn === run.turn);
  if (turn === undefined) return null;
  const call = agentCall(turn);
  const request = requestOf(run, agent, deps);
  if (call === null) {
    await run.append([{ type: 'start-agent', generation: run.generation, kind: 'http', arguments: '{}' }]);
  }
  const known = resultOf(run.loaded, run.turn);
  if (known !== null) return endWith(run, known);
  try {
    const answer = await ask(run, agent, request, deps);
    if (answer.kind === 'text') return await finish(run, answer.text);
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
    // It may have called back before it failed; what we know of the stream may be older than that.
    const late = await run.waitFor((loaded) => resultOf(loaded, run.turn), performance.now() + LATE_MS);
    return late === null ? giveUpFor(run, agent, error, deps) : endWith(run, late);
  }
  const result = await run.waitFor((loaded) => resultOf(loaded, run.turn), FOR_EVER);
  return result === null ? null : endWith(run, result);
}

/** The turn waits if the agent is busy or down. The next run asks it again, under the same `webhook-id`. */
function giveUpFor(
  run: Run,
  agent: HttpAgentConfig,
  failure: CallFailure,
  { circuits, sessions }: HttpAgentDeps,
): Promise<Loaded | null> {
  const unusable = asUnusable(asModel(run), run.sessionId, failure, circuits);
  if (unusable === null) return run.fail('agent_failed', failure.message);
  const failed = { code: 'agent_unreachable', message: failure.message, models: [unusable] } as const;
  return putOffOrFail(run, agent, failed, { sessions });
}

function asModel({ loaded }: Run): string {
  return agentAsModel(loaded.state.created?.agent ?? '');
}

/** Result and answer are one append. The result of the call only says that it was answered. */
function finish(run: Run, text: string): Promise<Loaded | null> {
  const { generation } = run;
  return run.end([
    {
      type: 'finish-tool',
      generation,
      callId: agentCallId(run.turn),
      outcome: 'ok',
      result: '{"answered":"in the response"}',
    },
    { type: 'finish-turn', generation, text: toStorable(text) },
  ]);
}

function ask(
  run: Run,
  agent: HttpAgentConfig,
  request: Request,
  { postToAgent, circuits, logger }: HttpAgentDeps,
): Promise<AgentAnswer> {
  const post = async () => {
    run.assertHeld();
    try {
      return await postToAgent(agent, request, run.signal);
    } finally {
      run.assertHeld();
    }
  };
  const onFailedTry = (failure: CallFailure, tries: number): void => {
    if (!(failure instanceof AgentFailure)) return;
    logger.warn(
      { session_id: run.sessionId, tries, reason: failure.message },
      'call of an http agent failed',
    );
  };
  if (!waitsForModels(agent)) return retryCall(post, run.signal, onFailedTry);
  return circuits.call(asModel(run), run.sessionId, (guard) =>
    retryCall(() => guard(post), run.signal, onFailedTry),
  );
}

/** @throws SkillUnavailable */
function requestOf(run: Run, agent: HttpAgentConfig, { config, callbacks }: HttpAgentDeps): Request {
  const { created, run: open } = run.loaded.state;
  const messages = conversation(run.loaded.events);
  const skills = (created?.skills ?? []).map((name) => readSkill(config.directories.skills, name));
  const instructions = [...skills, ...fenceInstructions(messages)];
  const callId = agentCallId(run.turn);
  return {
    // No dot: the signature is over `<id>.<time>.<body>`.
    id: `${run.sessionId}_${callId}`,
    mayAnswerLater: callbacks !== null,
    body: JSON.stringify({
      type: 'agent.turn',
      session_id: run.sessionId,
      turn: run.turn,
      route: created?.route ?? null,
      event: created?.event ?? null,
      title: created?.title ?? null,
      resumed: open?.resumed ?? false,
      prompt: messages.findLast(({ role }) => role === 'user')?.content ?? '',
      messages,
      instructions: instructions.join('\n\n') || null,
      timeout_seconds: agent.timeout_seconds,
      callback_url: callbacks?.url({ sessionId: run.sessionId, callId }) ?? null,
    }),
  };
}
