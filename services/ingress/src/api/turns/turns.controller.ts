import { randomUUID } from 'node:crypto';
import type { SessionId } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import { KEYED_SESSIONS, SESSIONS } from '@angelia/service-kit';
import { type Decision, decide, type SessionState, sessionStatus, waitingFor } from '@angelia/session';
import type { KeyedSessions, Loaded, Sessions } from '@angelia/sessions';
import { Body, Controller, Headers, HttpCode, Inject, Param, Post, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { parseBody } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { unknownSession, wholeSessionId } from '../sessions/session-id.ts';
import { newMessage } from './turns.operations.ts';

/** How long a repeated POST is recognised by its key. Clients retry for minutes; a day covers a stopped queue. */
const KEY_SECONDS = 86_400;

/** The model sees its transcript above this text, which tells it to finish and not to ask. */
const RESUME_INPUT =
  'Go on with this work: finish what is unfinished and give the answer. Do not start over what is done already.';

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
      actor: 'api',
      ...(key === undefined ? {} : { key }),
    });
    if (executed.status === 'duplicate') return { session_id: executed.streamId };
    if (executed.status !== 'refused') return { session_id: session };
    if (executed.code !== 'session_ended') throw refused(executed);
    const deliveryId = key?.key ?? `message-${randomUUID()}`;
    return this.#continueSession(executed.loaded, { source: 'message', input, deliveryId }, key, take);
  }

  @Post('/resume')
  @HttpCode(202)
  async resume(
    @Param('id') id: string,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
  ): Promise<Taken> {
    const session = wholeSessionId(id);
    const key = keyOf('resume', session, idempotencyKey);
    const loaded = await this.sessions.load(session);
    if (loaded.state.created === null) throw unknownSession();
    if (loaded.state.ended === null) {
      throw new Refusal(409, 'not_ended', `this session cannot be resumed: ${whyNotEnded(loaded)}`);
    }
    // The same id while the continuation is open, so two calls resume once.
    const deliveryId = `resume-${session}`;
    return this.#continueSession(loaded, { source: 'resume', input: RESUME_INPUT, deliveryId }, key);
  }

  async #continueSession(
    old: Loaded,
    turn: Parameters<KeyedSessions['continueSession']>[1],
    key: ReturnType<typeof keyOf>,
    take?: (state: SessionState) => Decision,
  ): Promise<Taken> {
    if (old.state.created?.deliverOnly) {
      throw new Refusal(
        409,
        'deliver_only',
        `route ${old.state.created.route} has \`deliver_only\`, so no agent works on its sessions`,
      );
    }
    const given = { actor: 'api', ...(key === undefined ? {} : { key }) };
    const continued = await this.keyed.continueSession(old, turn, given, take);
    return { session_id: continued.sessionId };
  }
}

/** Visible ASCII, as in the draft of the header. Most clients send a uuid. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/;

function keyOf(what: 'message' | 'resume', session: SessionId, header: string | undefined) {
  if (header === undefined) return undefined;
  if (!IDEMPOTENCY_KEY.test(header)) {
    throw new Refusal(
      400,
      'bad_idempotency_key',
      'header `Idempotency-Key`: give 1 to 200 visible ASCII characters, for example a uuid',
    );
  }
  return { key: `api:${what}:${session}:${header}`, keepSeconds: KEY_SECONDS };
}

function whyNotEnded({ state }: Loaded): string {
  if (state.clarification !== null) {
    return 'it waits for an answer to its question: send one with POST .../messages';
  }
  if (waitingFor(state) === 'model') {
    return 'it waits for its language model and will continue without a call';
  }
  switch (sessionStatus(state)) {
    case 'running':
      return 'it is running: POST .../messages adds a turn, .../cancel ends it';
    case 'queued':
      return 'it is queued and will start without a call';
    default:
      return 'it waits for its background processes and will continue without a call';
  }
}

function refused({ code, reason }: { code: string; reason: string }): Refusal {
  return code === 'unknown_session'
    ? unknownSession()
    : new Refusal(409, code, `this message cannot be taken: ${reason}`);
}
