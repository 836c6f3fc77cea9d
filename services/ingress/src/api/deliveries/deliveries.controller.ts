import { outputTypes, type SessionId } from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import { retryDelivery } from '@angelia/jobs';
import { EVENT_LOG, SESSIONS } from '@angelia/service-kit';
import type { Executed, Sessions } from '@angelia/sessions';
import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Actor } from '../../access/caller.ts';
import { parseBody, parseQuery } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { wholeSessionId } from '../sessions/session-id.ts';
import {
  type DeliveryJson,
  deliveriesQuery,
  type RetriedJson,
  retryFilter,
} from './deliveries.operations.ts';
import { deliveryJson } from './delivery-json.ts';

/** Rows of the view per read while many deliveries are retried. */
const PAGE = 200;

/** Deliveries of any status, from the view and so a moment behind. A retry is decided on the log. */
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
    const page = await this.log.lists.deliveries({
      ...filter,
      ...(session === undefined ? {} : { sessionId: session }),
    });
    return { items: page.items.map(deliveryJson), next_cursor: page.nextCursor };
  }

  @Post('/retry')
  @HttpCode(202)
  async retryMany(@Body() body: unknown, @Actor() actor: string): Promise<RetriedJson> {
    const { session, limit, ...filter } = parseBody(retryFilter, body);
    const retried: string[] = [];
    const refused: { id: string; reason: string }[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.log.lists.deliveries({
        ...filter,
        sessionId: session,
        limit: PAGE,
        ...(cursor === undefined ? {} : { cursor }),
      });
      for (const { sessionId, output } of page.items) {
        if (retried.length + refused.length >= limit) return { retried, refused, more: true };
        const id = `${sessionId}.${output}`;
        const executed = await this.#retryOutput(wholeSessionId(sessionId), output, actor);
        if (executed.status === 'appended') retried.push(id);
        // It was delivered or retried since the view was written, and is no longer in this list.
        else if (executed.status === 'refused' && executed.code !== 'delivery_settled') {
          refused.push({ id, reason: executed.reason });
        }
      }
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    return { retried, refused, more: false };
  }

  @Post('/:id/retry')
  @HttpCode(202)
  async retry(@Param('id') id: string, @Actor() actor: string): Promise<{ id: string; session_id: string }> {
    const { session, output } = deliveryId(id);
    const executed = await this.#retryOutput(session, output, actor);
    if (executed.status === 'refused') {
      const event = executed.loaded.events.find(({ version }) => version === output);
      if (event === undefined || !outputTypes.some((type) => type === event.type)) throw unknownDelivery();
      throw new Refusal(409, executed.code, `this delivery cannot be retried: ${whyNot(executed)}`);
    }
    return { id, session_id: session };
  }

  #retryOutput(session: SessionId, output: number, actor: string): Promise<Executed> {
    return retryDelivery(this.sessions, { session, output }, { by: 'api', actor });
  }
}

function whyNot({ code, reason }: { code: string; reason: string }): string {
  return code === 'delivery_settled' ? 'it was delivered or dropped, or it is not meant to be sent' : reason;
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
      'this is not a delivery id: give `<session id>.<output>`, as in GET /v1/deliveries',
    );
  }
  return { session: wholeSessionId(session), output: Number(output) };
}
