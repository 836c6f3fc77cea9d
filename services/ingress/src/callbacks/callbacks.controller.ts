import { toStorable } from '@angelia/event-log';
import { type CallbackLinks, type CallName, SESSIONS } from '@angelia/service-kit';
import { agentCallId, agentTools, type Decision, decide, type SessionState } from '@angelia/session';
import { type Loaded, SESSION_ID, type Sessions, withSpan } from '@angelia/sessions';
import { Body, Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { SpanKind } from '@opentelemetry/api';
import type { z } from 'zod';
import { parseBody } from '../http/parse-request.ts';
import { Refusal } from '../http/refusal.ts';
import { CALLBACK_LINKS } from '../tokens.ts';
import { callbackBody } from './callbacks.operations.ts';

/** How many statuses an agent may send during one run. More than this is not useful to anybody. */
const MOST_STATUSES = 200;

/**
 * Takes the answer of an agent of kind http that replied 202. The agent got the signed link for this one call; no admin
 * token is needed. The answer is recorded as the result of the call and survives the runner that asked: the run that has
 * the turn then continues with it.
 */
@Controller('/callbacks/:token')
export class CallbacksController {
  constructor(
    @Inject(SESSIONS) private readonly sessions: Sessions,
    @Inject(CALLBACK_LINKS) private readonly links: CallbackLinks | null,
  ) {}

  @Post()
  @HttpCode(202)
  async take(@Param('token') token: string, @Body() body: unknown): Promise<{ session_id: string }> {
    // The signature first, so that nobody can make us read a stream with an invented link.
    const call = this.links?.read(token) ?? null;
    if (call === null) throw unknownCallbackLink();
    const report = parseBody(callbackBody, body);
    const loaded = await this.sessions.load(call.sessionId);
    if (loaded.version === 0) throw unknownCallbackLink();
    await this.#record(call, loaded, report);
    return { session_id: call.sessionId };
  }

  /** In the trace of the session. The request itself has no span, because its address contains the key. */
  async #record({ sessionId, callId }: CallName, loaded: Loaded, report: CallbackReport): Promise<void> {
    const parent = loaded.state.created?.traceparent ?? undefined;
    const executed = await withSpan(
      () => ({
        name: 'agent called back',
        kind: SpanKind.SERVER,
        parent,
        attributes: { [SESSION_ID]: sessionId },
      }),
      () =>
        this.sessions.execute(sessionId, ({ state }) => decideCallback(state, callId, report), {
          loaded,
          actor: 'callback',
        }),
    );
    if (executed.status === 'appended' || executed.status === 'nothing') return;
    if (executed.status === 'refused' && executed.code === 'no_open_run') {
      throw new Refusal(
        409,
        'no_open_run',
        'no run is working on this right now, so a status cannot be recorded: an answer still can',
      );
    }
    throw new Refusal(
      410,
      'call_over',
      'this turn is over: it was answered, was cancelled, or took too long',
    );
  }
}

type CallbackReport = z.infer<typeof callbackBody>;

function decideCallback(
  state: SessionState,
  callId: string,
  { text, error, status }: CallbackReport,
): Decision {
  const turn = state.turns[0];
  const call = turn?.calls.find(({ id, tool }) => id === callId && tool === agentTools.http);
  if (state.ended !== null || turn === undefined || call === undefined || agentCallId(turn.turn) !== callId) {
    return { ok: false, code: 'call_closed', reason: `call ${callId} is not open` };
  }
  if (status === undefined) {
    return decide(state, {
      type: 'finish-tool',
      generation: null,
      callId,
      outcome: text === undefined ? 'error' : 'ok',
      result: JSON.stringify(
        text === undefined ? { error: toStorable(error ?? '') } : { text: toStorable(text) },
      ),
    });
  }
  const { run } = state;
  if (call.status === 'done') return { ok: false, code: 'call_closed', reason: `call ${callId} is over` };
  if (run === null || run.turn !== turn.turn || run.statuses >= MOST_STATUSES) {
    return {
      ok: false,
      code: 'no_open_run',
      reason: 'no run is working on this turn, or it has too many statuses',
    };
  }
  return decide(state, {
    type: 'interim-status',
    generation: run.generation,
    sequence: run.statuses + 1,
    kind: 'agent',
    text: toStorable(status),
  });
}

/** Also used before the body is read (access-check.ts). */
export function unknownCallbackLink(): Refusal {
  return new Refusal(
    404,
    'unknown_link',
    'there is no call behind this link: use the whole `callback_url` exactly as it was given',
  );
}
