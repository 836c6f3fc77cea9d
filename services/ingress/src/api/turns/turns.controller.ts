import { randomUUID } from 'node:crypto';
import type { SessionId } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import { resumeSession } from '@angelia/jobs';
import { KEYED_SESSIONS, SESSIONS } from '@angelia/service-kit';
import { type Decision, decide, type SessionState, sessionStatus, waitingFor } from '@angelia/session';
import type { KeyedSessions, Loaded, Sessions } from '@angelia/sessions';
import { Body, Controller, Headers, HttpCode, Inject, Param, Post, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Actor } from '../../access/caller.ts';
import { idempotencyKey } from '../../http/idempotency-key.ts';
import { parseBody } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { unknownSession, wholeSessionId } from '../sessions/session-id.ts';
import { newMessage } from './turns.operations.ts';

interface Taken {
  readonly session_id: string;
}

/** What gives a session a new turn: a message, or resuming it after its end. */
@Controller('/v1/sessions/:id')
@UseGuards(AdminTokenGuard)
export class TurnsController {
  constructor(
    @Inject(SESSIONS) private readonly sessions: Sessions,
    @Inject(KEYED_SESSIONS) private readonly keyed: KeyedSessions,
  ) {}

  @Post('/messages')
  @HttpCode(202)
  async message(
    @Param('id') id: string,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Body() body: unknown,
    @Actor() actor: string,
  ): Promise<Taken> {
    const session = wholeSessionId(id);
    const { text, new_turn: newTurn } = parseBody(newMessage, body);
    const key = keyOf('message', session, idempotencyKey);
    const input = toStorable(text);
    const take = (state: SessionState): Decision => {
      const { clarification } = state;
      if (clarification !== null && !newTurn) {
        const answering = { clarificationId: clarification.id, answer: input, by: 'api' } as const;
        return decide(state, { type: 'answer-clarification', ...answering });
      }
      // It has no delivery id: the key of the append recognises a repeat.
      const turn = { source: 'message', input, deliveryId: null, supersede: newTurn } as const;
      return decide(state, { type: 'request-turn', ...turn });
    };
    const executed = await this.sessions.execute(session, ({ state }) => take(state), {
      actor,
      ...(key === undefined ? {} : { key }),
    });
    if (executed.status === 'duplicate') return { session_id: executed.streamId };
    if (executed.status !== 'refused') return { session_id: session };
    if (executed.code !== 'session_ended') throw refused(executed);
    const deliveryId = key?.key ?? `message-${randomUUID()}`;
    refuseDeliverOnly(executed.loaded);
    const continued = await this.keyed.continueSession(
      executed.loaded,
      { source: 'message', input, deliveryId },
      { actor, ...(key === undefined ? {} : { key }) },
      take,
    );
    return { session_id: continued.sessionId };
  }

  @Post('/resume')
  @HttpCode(202)
  async resume(
    @Param('id') id: string,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Actor() actor: string,
  ): Promise<Taken> {
    const session = wholeSessionId(id);
    const key = keyOf('resume', session, idempotencyKey);
    const loaded = await this.sessions.load(session);
    if (loaded.state.created === null) throw unknownSession();
    if (loaded.state.ended === null) {
      throw new Refusal(409, 'not_ended', `this session cannot be resumed: ${whyNotEnded(loaded)}`);
    }
    refuseDeliverOnly(loaded);
    const given = { actor, ...(key === undefined ? {} : { key }) };
    return { session_id: (await resumeSession(this.keyed, loaded, given)).sessionId };
  }
}

function refuseDeliverOnly({ state }: Loaded): void {
  if (!state.created?.deliverOnly) return;
  throw new Refusal(
    409,
    'deliver_only',
    `route ${state.created.route} has \`deliver_only\`, so no agent works on its sessions`,
  );
}

function keyOf(what: 'message' | 'resume', session: SessionId, header: string | undefined) {
  return idempotencyKey(`api:${what}:${session}`, header);
}

function whyNotEnded({ state }: Loaded): string {
  if (state.clarification !== null) {
    return 'it waits for an answer to its question: send one with POST .../messages';
  }
  if (waitingFor(state) === 'model') {
    return 'it waits for its language model and will continue by itself';
  }
  switch (sessionStatus(state)) {
    case 'running':
      return 'it is running: POST .../messages adds a turn, .../cancel ends it';
    case 'queued':
      return 'it is queued and will start by itself';
    default:
      return 'it waits for its background processes and will continue by itself';
  }
}

function refused({ code, reason }: { code: string; reason: string }): Refusal {
  return code === 'unknown_session'
    ? unknownSession()
    : new Refusal(409, code, `this message cannot be taken: ${reason}`);
}
