import { toStorable } from '@angelia/event-log';
import { type AnswerLinks, type QuestionName, SESSIONS } from '@angelia/service-kit';
import { decide } from '@angelia/session';
import { type Loaded, SESSION_ID, type Sessions, withSpan } from '@angelia/sessions';
import { Body, Controller, Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { SpanKind } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answerError, closeIfBodyIsLarge, errorAnswer } from '../http/answer-error.ts';
import { parseBody } from '../http/parse-request.ts';
import { Refusal } from '../http/refusal.ts';
import { ANSWER_LINKS } from '../tokens.ts';
import { givenAnswer } from './answers.operations.ts';
import { messagePage, questionPage, sendPage } from './page.ts';
import { type Question, questionIn, whyClosed } from './question.ts';

/**
 * The signed link that is delivered with a question. Anybody who has it may answer; no admin token is needed. It works
 * once, because a question is answered once, and as long as the question is open. Nothing else has to be stored for it.
 * Opening the page changes nothing, because chat programs fetch every link that they show.
 */
@Controller('/answers/:token')
export class AnswersController {
  constructor(
    @Inject(SESSIONS) private readonly sessions: Sessions,
    @Inject(ANSWER_LINKS) private readonly links: AnswerLinks | null,
  ) {}

  @Get()
  async show(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await answering(request, reply, async (asPage) => {
      const { question } = await this.#open(token);
      if (asPage) return sendPage(reply, 200, questionPage(question));
      const { question: text, choices, deadline, sessionId: session_id, title, route, agent } = question;
      reply
        .code(200)
        .header('cache-control', 'no-store')
        .send({ question: text, choices, deadline, session_id, title, route, agent });
    });
  }

  @Post()
  async take(
    @Param('token') token: string,
    @Body() body: unknown,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await answering(request, reply, async (asPage) => {
      const { name, loaded, question } = await this.#open(token);
      if (asPage && !givenAnswer.safeParse(body).success) {
        return sendPage(reply, 400, questionPage(question, 'Please give an answer.'));
      }
      const { answer } = parseBody(givenAnswer, body);
      await this.#record(name, loaded, question, toStorable(answer));
      if (asPage) return sendPage(reply, 202, messagePage('Thank you', 'Your answer was received.'));
      reply.code(202).send({ session_id: name.sessionId });
    });
  }

  /** @throws Refusal 404, 410 */
  async #open(token: string): Promise<{ name: QuestionName; loaded: Loaded; question: Question }> {
    // The signature first, so that nobody can make us read a stream with an invented link.
    const name = this.links?.read(token) ?? null;
    if (name === null) throw unknownLink();
    const loaded = await this.sessions.load(name.sessionId);
    const question = questionIn(loaded, name);
    if (question === null) throw unknownLink();
    if (question.status !== 'open') throw questionClosed(question.status);
    return { name, loaded, question };
  }

  /** In the trace of the session. The request itself has no span, because its address contains the key. */
  async #record(
    name: QuestionName,
    loaded: Loaded,
    { clarificationId }: Question,
    answer: string,
  ): Promise<void> {
    const parent = loaded.state.created?.traceparent ?? undefined;
    const executed = await withSpan(
      () => ({
        name: 'clarification answered',
        kind: SpanKind.SERVER,
        parent,
        attributes: { [SESSION_ID]: loaded.id },
      }),
      () =>
        this.sessions.execute(
          name.sessionId,
          ({ state }) => decide(state, { type: 'answer-clarification', clarificationId, answer, by: 'link' }),
          { loaded, actor: 'link' },
        ),
    );
    if (executed.status === 'appended') return;
    // Since we read it, somebody else answered or its time ran out.
    const status = questionIn(await this.sessions.load(name.sessionId), name)?.status ?? 'closed';
    throw questionClosed(status === 'open' ? 'closed' : status);
  }
}

/** People get a page, also for an error. An unexpected error goes on to the error filter, which logs it. */
export async function answering(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  work: (asPage: boolean) => Promise<void>,
): Promise<void> {
  const asPage = wantsPage(headers.accept, headers['content-type']);
  try {
    await work(asPage);
  } catch (error) {
    if (!asPage || errorAnswer(error).unexpected) throw error;
    sendErrorPage(reply, error);
  }
}

/** Before the body is read, so that nobody sends a megabyte with an invented link (access-check.ts). */
export function refuseAnswerLink({ headers }: FastifyRequest, reply: FastifyReply): void {
  closeIfBodyIsLarge(reply);
  if (wantsPage(headers.accept, headers['content-type'])) sendErrorPage(reply, unknownLink());
  else answerError(reply, unknownLink());
}

function sendErrorPage(reply: FastifyReply, error: unknown): void {
  const { status, message, retryAfterSeconds } = errorAnswer(error);
  if (retryAfterSeconds !== null) reply.header('retry-after', String(retryAfterSeconds));
  sendPage(reply, status, messagePage(headings[status] ?? 'This cannot be accepted', message));
}

const headings: Readonly<Record<number, string>> = {
  403: 'You may not decide this',
  404: 'This link does not work',
  409: 'Not taken',
  410: 'This is closed',
  503: 'Not right now',
};

/** A browser accepts text/html. A program names JSON in what it accepts or in what it sends. */
function wantsPage(accept = '', contentType = ''): boolean {
  if (accept.includes('text/html')) return true;
  return !accept.includes('application/json') && !contentType.includes('application/json');
}

export function unknownLink(): Refusal {
  return new Refusal(
    404,
    'unknown_link',
    'There is no question behind this link, and no request for approval. Use the whole link exactly as it was delivered.',
  );
}

function questionClosed(status: Exclude<Question['status'], 'open'>): Refusal {
  return new Refusal(410, `question_${status}`, whyClosed[status]);
}
