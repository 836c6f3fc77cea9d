import { type AnswerLinks, type QuestionName, SESSIONS } from '@angelia/service-kit';
import { decide, mayDecide, shownArguments } from '@angelia/session';
import { type Loaded, SESSION_ID, type Sessions, withSpan } from '@angelia/sessions';
import { Body, Controller, Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { SpanKind } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { reasonOf } from '../api/approvals/approvals.controller.ts';
import { newDecision } from '../api/approvals/approvals.operations.ts';
import { parseBody } from '../http/parse-request.ts';
import { Refusal } from '../http/refusal.ts';
import { ANSWER_LINKS } from '../tokens.ts';
import { answering, unknownLink } from './answers.controller.ts';
import { type Approval, approvalIn, refusals, sentenceFor } from './approval.ts';
import type { ApprovalJson } from './approval-links.operations.ts';
import { approvalPage, messagePage, sendPage } from './page.ts';

/**
 * The signed link that is delivered with a request for approval, like that of a question (answers.controller.ts): opening it
 * changes nothing, and it works once. Whoever has it may decide, unless the `approvers` of the request are others.
 */
@Controller('/approvals/:token')
export class ApprovalLinksController {
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
      const { loaded, approval } = await this.#open(token);
      const shown = approvalJson(loaded, approval);
      if (asPage) return sendPage(reply, 200, approvalPage({ ...shown, rule: approval.request.rule }));
      reply.code(200).header('cache-control', 'no-store').send(shown);
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
      const { name, loaded, approval } = await this.#open(token);
      const { decision, scope, reason, digest } = parseBody(newDecision, body);
      const given = { decision, scope, reason: reasonOf(reason), digest: digest ?? null } as const;
      await this.#record(name, loaded, approval, given);
      if (asPage) {
        const what = decision === 'approve' ? 'The call was approved.' : 'The call was denied.';
        return sendPage(reply, 202, messagePage('Thank you', what));
      }
      reply.code(202).send({ session_id: name.sessionId });
    });
  }

  /** @throws Refusal 403, 404, 410 */
  async #open(token: string): Promise<{ name: QuestionName; loaded: Loaded; approval: Approval }> {
    // The signature first, so that nobody can make us read a stream with an invented link.
    const name = this.links?.read(token) ?? null;
    if (name === null) throw unknownLink();
    const loaded = await this.sessions.load(name.sessionId);
    const approval = approvalIn(loaded, (_, version) => version === name.output);
    if (approval === null) throw unknownLink();
    if (approval.status !== 'open') throw closed(approval);
    const isOver = (await this.sessions.now()) >= Date.parse(approval.request.expires_at);
    if (isOver) throw closed({ ...approval, status: 'expired' });
    if (!mayDecide(approval.request.approvers, { way: 'link', actor: 'link' })) throw notAnApprover();
    return { name, loaded, approval };
  }

  /** In the trace of the session. The request itself has no span, because its address contains the key. */
  async #record(
    { sessionId }: QuestionName,
    loaded: Loaded,
    { request }: Approval,
    given: {
      readonly decision: 'approve' | 'deny';
      readonly scope: 'once' | 'session';
      readonly reason: string | null;
      readonly digest: string | null;
    },
  ): Promise<void> {
    const now = await this.sessions.now();
    const approvalId = request.approval_id;
    const executed = await withSpan(
      () => ({
        name: 'approval decided',
        kind: SpanKind.SERVER,
        parent: loaded.state.created?.traceparent ?? undefined,
        attributes: { [SESSION_ID]: loaded.id },
      }),
      () =>
        this.sessions.execute(
          sessionId,
          ({ state }) =>
            decide(state, { type: 'decide-approval', approvalId, ...given, actor: 'link', way: 'link', now }),
          { loaded, actor: 'link' },
        ),
    );
    if (executed.status === 'appended') return;
    if (executed.status === 'refused' && executed.code === 'arguments_changed') {
      const { code, message } = refusals.arguments_changed ?? { code: '', message: '' };
      throw new Refusal(409, code, message);
    }
    // Since we read it, somebody else decided or its time ran out.
    const after = approvalIn(
      await this.sessions.load(sessionId),
      ({ approval_id }) => approval_id === approvalId,
    );
    if (after === null) throw unknownLink();
    throw closed(after.status === 'open' ? { ...after, status: 'expired' } : after);
  }
}

function approvalJson({ id, state }: Loaded, { request }: Approval): ApprovalJson {
  return {
    id: request.approval_id,
    session_id: id,
    title: state.created?.title ?? '',
    route: state.created?.route ?? '',
    agent: state.created?.agent ?? '',
    tool: request.tool,
    arguments: request.arguments,
    shown: { ...shownArguments(request.tool, request.arguments) },
    digest: request.digest,
    approvers: request.approvers,
    expires_at: request.expires_at,
  };
}

function closed({ status, decided }: Approval): Refusal {
  const why = status === 'open' ? 'ended' : status;
  return new Refusal(410, `approval_${why}`, sentenceFor(why, decided));
}

function notAnApprover(): Refusal {
  const { code, message } = refusals.not_an_approver ?? { code: '', message: '' };
  return new Refusal(403, code, message);
}
