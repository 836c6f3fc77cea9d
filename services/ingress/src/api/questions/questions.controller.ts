import { type EventData, eventSchemas } from '@angelia/contracts';
import { type EventLog, type ListedQuestion, toStorable } from '@angelia/event-log';
import { EVENT_LOG, SESSIONS } from '@angelia/service-kit';
import { decide } from '@angelia/session';
import type { Loaded, Sessions } from '@angelia/sessions';
import { Body, Controller, Get, Headers, Inject, Param, Post, Query, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Actor } from '../../access/caller.ts';
import { idempotencyKey } from '../../http/idempotency-key.ts';
import { parseBody, parseQuery } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { unknownSession, wholeSessionId } from '../sessions/session-id.ts';
import {
  type ClosedQuestionJson,
  newAnswer,
  type OpenQuestionJson,
  questionsQuery,
} from './questions.operations.ts';

interface ListedQuestions {
  readonly items: OpenQuestionJson[];
  readonly next_cursor: string | null;
  readonly count?: number;
  readonly count_exact?: boolean;
}

/** Open questions of all sessions, from the views. Whether one is still open is decided on the log. */
@Controller('/v1')
@UseGuards(AdminTokenGuard)
export class QuestionsController {
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(SESSIONS) private readonly sessions: Sessions,
  ) {}

  @Get('/questions')
  async list(@Query() query: unknown): Promise<ListedQuestions> {
    const { count, limit, cursor, route } = parseQuery(questionsQuery, query);
    const [page, counted] = await Promise.all([
      this.log.lists.questions({ route, limit, cursor }),
      count ? this.log.lists.countSessions({ route, waitingFor: 'person' }) : null,
    ]);
    return {
      items: page.items.map(questionJson),
      next_cursor: page.nextCursor,
      ...(counted === null ? {} : { count: counted.count, count_exact: counted.exact }),
    };
  }

  @Post('/sessions/:id/answers')
  async answer(
    @Param('id') id: string,
    @Headers('idempotency-key') header: string | undefined,
    @Body() body: unknown,
    @Actor() actor: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ session_id: string } | ClosedQuestionJson> {
    const session = wholeSessionId(id);
    const { clarification_id: clarificationId, answer } = parseBody(newAnswer, body);
    const key = idempotencyKey(`api:answer:${session}`, header);
    const given = { clarificationId, answer: toStorable(answer), by: 'api' } as const;
    const executed = await this.sessions.execute(
      session,
      ({ state }) => decide(state, { type: 'answer-clarification', ...given }),
      { actor, ...(key === undefined ? {} : { key }) },
    );
    if (executed.status === 'refused') {
      // The session refuses a repeat before the log could recognise its key.
      const isRepeat = key !== undefined && (await this.log.streams.findByKey(key.key)) === session;
      if (!isRepeat) {
        reply.code(409);
        return closedQuestion(executed.loaded, clarificationId);
      }
    }
    reply.code(202);
    return { session_id: session };
  }
}

function questionJson({ sessionId, route, agent, title, askedAt, data }: ListedQuestion): OpenQuestionJson {
  const asked = eventSchemas['clarification.requested'].parse(data);
  return {
    session_id: sessionId,
    clarification_id: asked.clarification_id,
    title,
    route,
    agent,
    turn: asked.turn,
    question: asked.question,
    choices: asked.choices,
    asked_at: new Date(askedAt).toISOString(),
    deadline: asked.deadline,
    on_timeout: asked.on_timeout,
  };
}

const CLOSED_BY: Readonly<Record<string, Exclude<ClosedQuestionJson['reason'], 'ended'>>> = {
  'clarification.answered': 'answered',
  'clarification.timed-out': 'timed_out',
  'clarification.superseded': 'superseded',
};

/** @throws Refusal 404 if the session never asked it */
function closedQuestion({ events, version }: Loaded, id: string): ClosedQuestionJson {
  if (version === 0) throw unknownSession();
  const isAbout = ({ data }: { readonly data: unknown }) =>
    (data as { readonly clarification_id?: unknown }).clarification_id === id;
  const about = events.filter(isAbout);
  if (about.length === 0) {
    throw new Refusal(
      404,
      'unknown_question',
      'this session has never asked this question: GET /v1/questions lists the open ones',
    );
  }
  const closing = about.find(({ type }) => Object.hasOwn(CLOSED_BY, type));
  const reason = CLOSED_BY[closing?.type ?? ''] ?? 'ended';
  if (closing === undefined || reason !== 'answered') {
    return { error: `this question is closed: ${WHY_CLOSED[reason]}`, reason, answered: null };
  }
  const { answer } = closing.data as EventData<'clarification.answered'>;
  const at = new Date(closing.recordedAt).toISOString();
  const by = closing.meta.actor;
  return {
    error: `this question was answered already, by ${by} at ${at}`,
    reason,
    answered: { by, at, answer },
  };
}

const WHY_CLOSED = {
  answered: 'somebody answered it',
  timed_out: 'the time to answer it is over',
  superseded: 'another message was sent to the session instead of an answer',
  ended: 'the session has ended',
} as const satisfies Record<ClosedQuestionJson['reason'], string>;
