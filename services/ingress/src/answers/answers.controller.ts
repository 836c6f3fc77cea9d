import { storable } from '@angelia/event-log';
import { type AnswerLinks, type QuestionName, SESSIONS } from '@angelia/service-kit';
import { decide } from '@angelia/session';
import { type Loaded, type Sessions, withSpan } from '@angelia/sessions';
import { Body, Controller, Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answerError, closeIfBodyIsLarge, errorAnswer } from '../http/answer-error.ts';
import { parseBody } from '../http/parse-request.ts';
import { Refusal } from '../http/refusal.ts';
import { ANSWER_LINKS } from '../tokens.ts';
import { givenAnswer } from './answers.operations.ts';
import { messagePage, questionPage, sendPage } from './page.ts';
import { type Question, questionIn, whyClosed } from './question.ts';

/**
 * The signed link that is delivered with a question. Whoever has it may answer: no admin token. It is single-use
 * because a question is answered once, and holds as long as the question is open; there is nothing else to keep.
 * Looking at the page changes nothing: chat programs fetch every link that they show.
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
    await this.answering(request, reply, async (asPage) => {
      const { question } = await this.open(token);
      if (asPage) return sendPage(reply, 200, questionPage(question));
      const { question: text, choices, deadline } = question;
      reply.code(200).header('cache-control', 'no-store').send({ question: text, choices, deadline });
    });
  }

  @Post()
  async take(
    @Param('token') token: string,
    @Body() body: unknown,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.answering(request, reply, async (asPage) => {
      const { name, loaded, question } = await this.open(token);
      if (asPage && !givenAnswer.safeParse(body).success) {
        return sendPage(reply, 400, questionPage(question, 'An answer is wanted.'));
      }
      const { answer } = parseBody(givenAnswer, body);
      await this.record(name, loaded, question, storable(answer));
      if (asPage) return sendPage(reply, 202, messagePage('Thank you', 'Your answer was taken.'));
      reply.code(202).send({ session_id: name.sessionId });
    });
  }

  /** @throws Refusal 404, 410 */
  private async open(token: string): Promise<{ name: QuestionName; loaded: Loaded; question: Question }> {
    // The signature first: nobody makes us read a stream with an address that they made up.
    const name = this.links?.read(token) ?? null;
    if (name === null) throw notOurs();
    const loaded = await this.sessions.load(name.sessionId);
    const question = questionIn(loaded, name);
    if (question === null) throw notOurs();
    if (question.status !== 'open') throw over(question.status);
    return { name, loaded, question };
  }

  /** In the trace of the session: the request itself has no span, as its address is the key. */
  private async record(
    name: QuestionName,
    loaded: Loaded,
    { clarificationId }: Question,
    answer: string,
  ): Promise<void> {
    const parent = loaded.state.created?.traceparent ?? undefined;
    const executed = await withSpan('clarification answered', { parent }, () =>
      this.sessions.execute(
        name.sessionId,
        ({ state }) => decide(state, { type: 'answer-clarification', clarificationId, answer, by: 'link' }),
        { loaded, actor: 'link' },
      ),
    );
    if (executed.status === 'appended') return;
    // Somebody was quicker, or its time ran out, between our look and now.
    const status = questionIn(await this.sessions.load(name.sessionId), name)?.status ?? 'closed';
    throw over(status === 'open' ? 'closed' : status);
  }

  /** People get a page, also for an error; what is our own fault goes on to the filter, which logs it. */
  private async answering(
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
}

/** Before the body is read: nobody sends us a megabyte with a link that they made up (strangers/entrance.ts). */
export function refuseAnswerLink({ headers }: FastifyRequest, reply: FastifyReply): void {
  closeIfBodyIsLarge(reply);
  if (wantsPage(headers.accept, headers['content-type'])) sendErrorPage(reply, notOurs());
  else answerError(reply, notOurs());
}

function sendErrorPage(reply: FastifyReply, error: unknown): void {
  const { status, message, retryAfterSeconds } = errorAnswer(error);
  if (retryAfterSeconds !== null) reply.header('retry-after', String(retryAfterSeconds));
  sendPage(reply, status, messagePage(headings[status] ?? 'This cannot be taken', message));
}

const headings: Readonly<Record<number, string>> = {
  404: 'This link does not work',
  410: 'This question is closed',
  503: 'Not right now',
};

/** A browser says text/html; a program says JSON, in what it wants or in what it sends. */
function wantsPage(accept = '', contentType = ''): boolean {
  if (accept.includes('text/html')) return true;
  return !accept.includes('application/json') && !contentType.includes('application/json');
}

function notOurs(): Refusal {
  return new Refusal(
    404,
    'unknown_link',
    'There is no question behind this link. Use it exactly as it was delivered, to its last character.',
  );
}

function over(status: Exclude<Question['status'], 'open'>): Refusal {
  return new Refusal(410, `question_${status}`, whyClosed[status]);
}
