import { Controller, Get, Headers, Inject, Param, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Refusal } from '../../http/refusal.ts';
import { wholeSessionId } from '../sessions/session-id.ts';
import { SessionStreams } from './session-streams.ts';

@Controller('/v1/sessions/:id/stream')
@UseGuards(AdminTokenGuard)
export class StreamController {
  constructor(@Inject(SessionStreams) private readonly streams: SessionStreams) {}

  @Get()
  async follow(
    @Param('id') id: string,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.streams.answer(reply, wholeSessionId(id), parseLastEventId(lastEventId));
  }
}

/** An EventSource that has seen no id yet sends an empty one. */
function parseLastEventId(header: string | undefined): number | null {
  if (header === undefined || header === '') return null;
  if (/^[0-9]{1,9}$/.test(header)) return Number(header);
  throw new Refusal(
    400,
    'bad_last_event_id',
    'header `Last-Event-ID`: give the `id` of an event of this stream (a version, for example 7), or leave it out to start at the first',
  );
}
