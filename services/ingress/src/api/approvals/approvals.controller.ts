import { eventSchemas, isSessionId, type SessionId } from '@angelia/contracts';
import { type EventLog, type ListedQuestion, toStorable } from '@angelia/event-log';
import { EVENT_LOG, SESSIONS } from '@angelia/service-kit';
import { decide, shownArguments } from '@angelia/session';
import type { Sessions } from '@angelia/sessions';
import { Body, Controller, Get, Headers, Inject, Param, Post, Query, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Actor } from '../../access/caller.ts';
import { approvalIn, refusals, sentenceFor } from '../../answers/approval.ts';
import { idempotencyKey } from '../../http/idempotency-key.ts';
import { parseBody, parseQuery } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import {
  approvalsQuery,
  type ClosedApprovalJson,
  newDecision,
  type OpenApprovalJson,
} from './approvals.operations.ts';

interface ListedApprovals {
  readonly items: OpenApprovalJson[];
  readonly next_cursor: string | null;
  readonly count?: number;
  readonly count_exact?: boolean;
}

/** Open requests of all sessions, from the views. Whether one is still open is decided on the log. */
@Controller('/v1/approvals')
@UseGuards(AdminTokenGuard)
export class ApprovalsController {
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(SESSIONS) private readonly sessions: Sessions,
  ) {}

  @Get()
  async list(@Query() query: unknown): Promise<ListedApprovals> {
    const { count, limit, cursor, route } = parseQuery(approvalsQuery, query);
    const [page, counted] = await Promise.all([
      this.log.lists.approvals({ route, limit, cursor }),
      count ? this.log.lists.countSessions({ route, waitingFor: 'approval' }) : null,
    ]);
    return {
      items: page.items.map(approvalJson),
      next_cursor: page.nextCursor,
      ...(counted === null ? {} : { count: counted.count, count_exact: counted.exact }),
    };
  }

  @Post('/:id')
  async decide(
    @Param('id') id: string,
    @Headers('idempotency-key') header: string | undefined,
    @Body() body: unknown,
    @Actor() actor: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ session_id: string } | ClosedApprovalJson> {
    const session = sessionOf(id);
    const { decision, scope, reason, digest } = parseBody(newDecision, body);
    const key = idempotencyKey(`api:approval:${id}`, header);
    const given = { decision, scope, reason: reasonOf(reason), digest: digest ?? null, actor } as const;
    const way = actor === 'api' ? 'api' : 'console';
    const now = await this.sessions.now();
    const executed = await this.sessions.execute(
      session,
      ({ state }) => decide(state, { type: 'decide-approval', approvalId: id, ...given, way, now }),
      { actor, ...(key === undefined ? {} : { key }) },
    );
    if (executed.status === 'refused') {
      // The session refuses a repeat before the log could recognise its key.
      const isRepeat = key !== undefined && (await this.log.streams.findByKey(key.key)) === session;
      if (!isRepeat) {
        const approval = approvalIn(executed.loaded, ({ approval_id }) => approval_id === id);
        if (approval === null) throw unknownApproval();
        reply.code(409);
        const refusal = refusals[executed.code];
        if (refusal !== undefined && approval.status === 'open') {
          return { error: refusal.message, reason: 'arguments_changed', decided: null };
        }
        // Its time is over, and no runner has recorded that yet.
        const status = approval.status === 'open' ? 'expired' : approval.status;
        return { error: sentenceFor(status, approval.decided), reason: status, decided: approval.decided };
      }
    }
    reply.code(202);
    return { session_id: session };
  }
}

/** Only a text that says something is a reason. */
export function reasonOf(reason: string | undefined): string | null {
  return reason === undefined || reason.trim() === '' ? null : toStorable(reason.trim());
}

function sessionOf(id: string): SessionId {
  const session = id.slice(0, id.lastIndexOf('.'));
  if (!isSessionId(session)) throw unknownApproval();
  return session;
}

function unknownApproval(): Refusal {
  return new Refusal(
    404,
    'unknown_approval',
    'there is no such request for approval: GET /v1/approvals lists the open ones',
  );
}

function approvalJson({ sessionId, route, agent, title, askedAt, data }: ListedQuestion): OpenApprovalJson {
  const asked = eventSchemas['approval.requested'].parse(data);
  return {
    id: asked.approval_id,
    session_id: sessionId,
    title,
    route,
    agent,
    turn: asked.turn,
    call_id: asked.call_id,
    tool: asked.tool,
    arguments: asked.arguments,
    shown: { ...shownArguments(asked.tool, asked.arguments) },
    digest: asked.digest,
    rule: asked.rule,
    approvers: asked.approvers,
    asked_at: new Date(askedAt).toISOString(),
    expires_at: asked.expires_at,
  };
}
