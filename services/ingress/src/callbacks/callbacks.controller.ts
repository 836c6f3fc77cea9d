import { storable } from '@angelia/event-log';
import { type CallbackLinks, type CallName, SESSIONS } from '@angelia/service-kit';
import { agentCallId, agentTools, type Decision, decide, type SessionState } from '@angelia/session';
import { type Loaded, type Sessions, withSpan } from '@angelia/sessions';
import { Body, Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import type { z } from 'zod';
import { parseBody } from '../http/parse-request.ts';
import { Refusal } from '../http/refusal.ts';
import { CALLBACK_LINKS } from '../tokens.ts';
import { callbackBody } from './callbacks.operations.ts';

/** What an agent may say of itself during one run: beyond this it is talking, not reporting. */
const MOST_STATUSES = 200;

/**
 * Where an agent of kind http brings its answer after a 202. The signed link is what it was given for this one call: no
 * admin token. The answer is recorded as the result of the call, which outlives the runner that asked; whichever run
 * has the turn then goes on with it.
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
    // The signature first: nobody makes us read a stream with an address that they made up.
    const call = this.links?.read(token) ?? null;
    if (call === null) throw unknownCallbackLink();
    const said = parseBody(callbackBody, body);
    const loaded = await this.sessions.load(call.sessionId);
    if (loaded.version === 0) throw unknownCallbackLink();
    await this.record(call, loaded, said);
    return { session_id: call.sessionId };
  }

  /** In the trace of the session: the request itself has no span, as its address is the key. */
  private async record({ sessionId, callId }: CallName, loaded: Loaded, said: Said): Promise<void> {
    const parent = loaded.state.created?.traceparent ?? undefined;
    const executed = await withSpan('agent called back', { parent }, () =>
      this.sessions.execute(sessionId, ({ state }) => decideOn(state, callId, said), {
        loaded,
        actor: 'callback',
      }),
    );
    if (executed.status === 'appended' || executed.status === 'nothing') return;
    if (executed.status === 'refused' && executed.code === 'no_open_run') {
      throw new Refusal(
        409,
        'no_open_run',
        'no run is at work on this right now, so that nobody reports it: an answer is taken all the same',
      );
    }
    throw new Refusal(
      410,
      'call_over',
      'this turn is over: it was answered, cancelled, or took longer than it may',
    );
  }
}

type Said = z.infer<typeof callbackBody>;

function decideOn(state: SessionState, callId: string, { text, error, status }: Said): Decision {
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
        text === undefined ? { error: storable(error ?? '') } : { text: storable(text) },
      ),
    });
  }
  const { run } = state;
  if (call.status === 'done') return { ok: false, code: 'call_closed', reason: `call ${callId} is over` };
  if (run === null || run.turn !== turn.turn || run.statuses >= MOST_STATUSES) {
    return { ok: false, code: 'no_open_run', reason: 'nobody is at work, or enough was said' };
  }
  return decide(state, {
    type: 'interim-status',
    generation: run.generation,
    sequence: run.statuses + 1,
    kind: 'agent',
    text: storable(status),
  });
}

/** Also before the body is read (strangers/entrance.ts). */
export function unknownCallbackLink(): Refusal {
  return new Refusal(
    404,
    'unknown_link',
    'there is no call behind this link: use `callback_url` exactly as it was given, to its last character',
  );
}
