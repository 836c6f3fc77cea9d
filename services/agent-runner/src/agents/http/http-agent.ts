import { setTimeout as pause } from 'node:timers/promises';
import { readSkill } from '@angelia/config';
import type { Config, HttpAgentConfig } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import type { CallbackLinks, Logger } from '@angelia/service-kit';
import { agentCall, agentCallId, conversation, fenceInstructions } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { Run } from '../../run/claimed-run.ts';
import { endWith, resultOf } from '../agent-result.ts';
import type { AgentAnswer, PostToAgent, Request } from './agent-request.ts';

export interface HttpAgentDeps {
  readonly config: Pick<Config, 'directories'>;
  readonly callbacks: CallbackLinks | null;
  readonly postToAgent: PostToAgent;
  readonly logger: Logger;
}

/** As for models: so often, within so long, before the agent is said to be out of reach. */
const MAX_TRIES = 3;
const TRY_WINDOW_MS = 10_000;
const FIRST_WAIT_MS = 500;
/** Time for a look at the stream, also a slow one. */
const LATE_MS = 500;
/** The run's own time limit ends the wait for a callback. */
const FOR_EVER = Number.POSITIVE_INFINITY;

/**
 * A service elsewhere is the agent: one signed POST, answered with the text (200), or with 202 and later a callback,
 * which ingress records as the call's result. A run that follows a lost one asks again under the same `webhook-id`,
 * by which the agent knows that it is the same work.
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
  const answer = await ask(run, agent, request, deps);
  switch (answer.kind) {
    case 'text':
      return finish(run, answer.text);
    case 'later': {
      const result = await run.waitFor((loaded) => resultOf(loaded, run.turn), FOR_EVER);
      return result === null ? null : endWith(run, result);
    }
    case 'failed': {
      // It may have called back all the same, before it fell over: what we know of the stream is older than that.
      const late = await run.waitFor((loaded) => resultOf(loaded, run.turn), performance.now() + LATE_MS);
      if (late !== null) return endWith(run, late);
      return run.fail(answer.retryable ? 'agent_unreachable' : 'agent_failed', answer.reason);
    }
  }
}

/** Result and answer are one append: what is kept of the call is only that it was answered. */
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
    { type: 'finish-turn', generation, text: storable(text) },
  ]);
}

async function ask(
  run: Run,
  agent: HttpAgentConfig,
  request: Request,
  { postToAgent, logger }: HttpAgentDeps,
): Promise<AgentAnswer> {
  const begun = performance.now();
  for (let tries = 1; ; tries++) {
    run.assertHeld();
    const answer = await postToAgent(agent, request, run.signal);
    run.assertHeld();
    if (answer.kind !== 'failed') return answer;
    logger.warn(
      { session_id: run.sessionId, tries, reason: answer.reason },
      'the agent could not be asked, or failed',
    );
    const backoff = FIRST_WAIT_MS * 2 ** (tries - 1) * (0.5 + Math.random() / 2);
    const wait = Math.max(backoff, answer.retryAfterMs ?? 0);
    const late = performance.now() - begun + wait > TRY_WINDOW_MS;
    if (!answer.retryable || tries >= MAX_TRIES || late) return answer;
    await pause(wait, undefined, { signal: run.signal }).catch(() => {
      throw run.signal.reason;
    });
  }
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
