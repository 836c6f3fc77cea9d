import { parseCursor, type TailCursor } from '@angelia/event-log';
import { Controller, Get, Headers, Inject, Query, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { parseQuery } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { EventFeed } from './event-feed.ts';
import { eventsQuery } from './events.operations.ts';

@Controller('/v1/events')
@UseGuards(AdminTokenGuard)
export class EventsController {
  constructor(@Inject(EventFeed) private readonly feed: EventFeed) {}

  @Get()
  async follow(
    @Query() query: unknown,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { route = null, type: types = [] } = parseQuery(eventsQuery, query);
    await this.feed.answer(reply, { route, types }, parseLastEventId(lastEventId));
  }
}

/** An EventSource that has seen no id yet sends an empty one. */
function parseLastEventId(header: string | undefined): TailCursor | null {
  if (header === undefined || header === '') return null;
  const cursor = parseCursor(header);
  if (cursor !== null) return cursor;
  throw new Refusal(
    400,
    'bad_last_event_id',
    'header `Last-Event-ID`: give the `id` of an event of this feed, or leave it out to start from now',
  );
}
