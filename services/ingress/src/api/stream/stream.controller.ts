import { Controller, Get, Headers, Inject, Param, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { wholeSessionId } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { LiveStreams } from './session-streams.ts';

@Controller('/v1/sessions/:id/stream')
@UseGuards(AdminTokenGuard)
export class StreamController {
  constructor(@Inject(LiveStreams) private readonly streams: LiveStreams) {}

  @Get()
  async follow(
    @Param('id') id: string,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.streams.answer(reply, wholeSessionId(id), parseLastEventId(lastEventId));
  }
}

/** Empty is what an EventSource sends that saw no id yet. */
function parseLastEventId(header: string | undefined): number | null {
  if (header === undefined || header === '') return null;
  if (/^[0-9]{1,9}$/.test(header)) return Number(header);
  throw new Refusal(
    400,
    'bad_last_event_id',
    'header `Last-Event-ID`: the `id` of an event of this stream is wanted (a version, such as 7); leave it out to begin at the first',
  );
}
