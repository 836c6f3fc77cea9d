import { randomUUID } from 'node:crypto';
import type { SessionId } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import { KEYED_SESSIONS, SESSIONS } from '@angelia/service-kit';
import { type Decision, decide, type SessionState, sessionStatus } from '@angelia/session';
import type { KeyedSessions, Loaded, Sessions } from '@angelia/sessions';
import { Body, Controller, Headers, HttpCode, Inject, Param, Post, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { parseBody, wholeSessionId } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { newMessage } from '../sessions/sessions.operations.ts';

/** How long a repeated POST is known by its key. Clients retry for minutes; a day covers a queue that was stopped. */
const KEY_SECONDS = 86_400;

/** The model has its transcript above this; it is told to finish, and not to ask (C9). */
const RESUME_INPUT =
  'Go on with this work: finish what is unfinished and give the answer. Do not start over what is done already.';

interface Taken {
  readonly session_id: string;
}

/** What gives a session something to do: a message, and going on after its end. */
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
    const input = storable(text);
    const take = (state: SessionState): Decision => {
      const { clarification } = state;
      if (clarification !== null && !newTurn) {
        const answering = { clarificationId: clarification.id, answer: input, by: 'api' } as const;
        return decide(state, { type: 'answer-clarification', ...answering });
      }
      // No delivery id of its own: the key of the append says what was taken before.
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
    return this.goOn(executed.loaded, { source: 'message', input, deliveryId }, key, take);
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
      throw new Refusal(409, 'not_ended', `this session cannot be resumed: ${whyItGoesOn(loaded)}`);
    }
    // The same as long as the continuation is open: resumed twice is resumed once.
    const deliveryId = `resume-${session}`;
    return this.goOn(loaded, { source: 'resume', input: RESUME_INPUT, deliveryId }, key);
  }

  private async goOn(
    old: Loaded,
    turn: Parameters<KeyedSessions['continueSession']>[1],
    key: ReturnType<typeof keyOf>,
    take?: (state: SessionState) => Decision,
  ): Promise<Taken> {
    if (old.state.created?.deliverOnly) {
      throw new Refusal(
        409,
        'deliver_only',
        `route ${old.state.created.route} has \`deliver_only\`: no agent works on its sessions`,
      );
    }
    const given = { actor: 'api', ...(key === undefined ? {} : { key }) };
    const continued = await this.keyed.continueSession(old, turn, given, take);
    return { session_id: continued.sessionId };
  }
}

/** A visible ASCII string, as the draft of the header has it; uuids are usual. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/;

function keyOf(what: 'message' | 'resume', session: SessionId, header: string | undefined) {
  if (header === undefined) return undefined;
  if (!IDEMPOTENCY_KEY.test(header)) {
    throw new Refusal(
      400,
      'bad_idempotency_key',
      'header `Idempotency-Key`: 1 to 200 visible ASCII characters are wanted, such as a uuid',
    );
  }
  return { key: `api:${what}:${session}:${header}`, keepSeconds: KEY_SECONDS };
}

function whyItGoesOn({ state }: Loaded): string {
  if (state.clarification !== null) {
    return 'it waits for an answer to its question: POST .../messages gives it';
  }
  switch (sessionStatus(state)) {
    case 'running':
      return 'it is running: POST .../messages adds a turn, .../cancel ends it';
    case 'queued':
      return 'it is queued and starts by itself';
    default:
      return 'it waits for its background processes, and goes on by itself';
  }
}

function refused({ code, reason }: { code: string; reason: string }): Refusal {
  return code === 'unknown_session'
    ? unknownSession()
    : new Refusal(409, code, `this message cannot be taken: ${reason}`);
}

function unknownSession(): Refusal {
  return new Refusal(404, 'unknown_session', 'there is no session with this id; it may have been pruned');
}
