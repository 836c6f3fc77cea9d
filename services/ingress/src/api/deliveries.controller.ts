import { outputTypes } from '@angelia/contracts';
import type { EventLog, ListedDelivery } from '@angelia/event-log';
import { EVENT_LOG, SESSIONS, type Sessions } from '@angelia/service-kit';
import { type DeliveryViewRow, decide } from '@angelia/session';
import { Controller, Get, HttpCode, Inject, Param, Post, Query, UseGuards } from '@nestjs/common';
import { Refusal } from '../refusal.ts';
import { AdminTokenGuard } from './admin-token.guard.ts';
import { type DeliveryJson, deliveriesQuery } from './deliveries.operations.ts';
import { parseQuery, wholeSessionId } from './query.ts';

/** What was, is and could not be delivered: from the view, and so a moment behind. A retry is decided on the log. */
@Controller('/v1/deliveries')
@UseGuards(AdminTokenGuard)
export class DeliveriesController {
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(SESSIONS) private readonly sessions: Sessions,
  ) {}

  @Get()
  async list(@Query() query: unknown): Promise<{ items: DeliveryJson[]; next_cursor: string | null }> {
    const { session, ...filter } = parseQuery(deliveriesQuery, query);
    const page = await this.log.listDeliveries({
      ...filter,
      ...(session === undefined ? {} : { sessionId: session }),
    });
    return { items: page.items.map(deliveryJson), next_cursor: page.nextCursor };
  }

  @Post('/:id/retry')
  @HttpCode(202)
  async retry(@Param('id') id: string): Promise<{ id: string; session_id: string }> {
    const { session, output } = deliveryId(id);
    const executed = await this.sessions.execute(
      session,
      ({ state }) => decide(state, { type: 'retry-delivery', output, by: 'api' }),
      { actor: 'api' },
    );
    if (executed.status === 'refused') {
      const event = executed.loaded.events.find(({ version }) => version === output);
      if (event === undefined || !outputTypes.some((type) => type === event.type)) throw unknownDelivery();
      throw new Refusal(409, executed.code, `this delivery cannot be retried: ${whyNot(executed)}`);
    }
    return { id, session_id: session };
  }
}

function whyNot({ code, reason }: { code: string; reason: string }): string {
  return code === 'delivery_settled' ? 'it is delivered, was dropped, or is not meant to be sent' : reason;
}

function unknownDelivery(): Refusal {
  return new Refusal(
    404,
    'unknown_delivery',
    'there is no delivery with this id: GET /v1/deliveries lists them',
  );
}

const DELIVERY_ID = /^([0-9a-f-]{36})\.([1-9][0-9]{0,8})$/;

function deliveryId(id: string): { session: ReturnType<typeof wholeSessionId>; output: number } {
  const [, session, output] = DELIVERY_ID.exec(id) ?? [];
  if (session === undefined) {
    throw new Refusal(
      400,
      'bad_delivery_id',
      'this is no delivery id: `<session id>.<output>` is wanted, as GET /v1/deliveries gives it',
    );
  }
  return { session: wholeSessionId(session), output: Number(output) };
}

function deliveryJson(row: ListedDelivery): DeliveryJson {
  const detail = row.detail as DeliveryViewRow['detail'];
  return {
    id: `${row.sessionId}.${row.output}`,
    session_id: row.sessionId,
    output: row.output,
    kind: detail.kind,
    turn: detail.turn,
    target: row.target,
    via: detail.via,
    status: row.status as DeliveryViewRow['status'],
    attempts: row.attempts,
    next_attempt_at: row.dueAt === null ? null : new Date(row.dueAt).toISOString(),
    reason: detail.reason,
    receipt: detail.receipt,
    possible_duplicate: detail.possible_duplicate,
    created_at: new Date(detail.recorded_at).toISOString(),
    updated_at: new Date(row.updatedAt).toISOString(),
  };
}
