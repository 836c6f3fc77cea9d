import { hintSchema } from '@angelia/contracts';
import type { DeadLetter, EventLog } from '@angelia/event-log';
import { BUS, EVENT_LOG } from '@angelia/service-kit';
import { newEventId } from '@angelia/sessions';
import { Controller, Get, HttpCode, Inject, Param, Post, Query, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { parseQuery } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { type DeadLetterJson, deadLettersQuery } from './dead-letters.operations.ts';

/** The projection has no hints: its leader looks for replays that are requested. */
const PROJECTION = 'projection';

@Controller('/v1/dead-letters')
@UseGuards(AdminTokenGuard)
export class DeadLettersController {
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(BUS) private readonly bus: { publishHints(hints: readonly object[]): Promise<unknown> },
  ) {}

  @Get()
  async list(@Query() query: unknown): Promise<{ items: DeadLetterJson[]; next_cursor: string | null }> {
    const { limit, cursor } = parseQuery(deadLettersQuery, query);
    const letters = await this.log.deadLetters.list({
      limit: limit + 1,
      ...(cursor === undefined ? {} : { before: cursor }),
    });
    const items = letters.slice(0, limit).map(letterJson);
    return { items, next_cursor: letters.length > limit ? (items.at(-1)?.id ?? null) : null };
  }

  @Post('/:id/replay')
  @HttpCode(202)
  async replay(@Param('id') id: string): Promise<{ id: string }> {
    if (!/^[0-9]{1,15}$/.test(id)) {
      throw new Refusal(400, 'bad_dead_letter_id', 'this is not the id of a dead letter: give a number');
    }
    const [letter] = await this.log.deadLetters.list({ limit: 1, id: Number(id) });
    if (letter === undefined) {
      throw new Refusal(
        404,
        'unknown_dead_letter',
        'there is no dead letter with this id: it may have been replayed already',
      );
    }
    if (letter.handler === PROJECTION) {
      await this.log.deadLetters.requestReplay(letter.id);
      return { id };
    }
    const hint = hintSchema.safeParse(letter.payload);
    if (!hint.success) {
      throw new Refusal(
        409,
        'no_hint',
        'this dead letter holds no hint of ours, so there is nothing to replay',
      );
    }
    // A new id: the bus would treat the old one as a duplicate.
    await this.bus.publishHints([{ ...hint.data, messageId: newEventId() }]);
    await this.log.deadLetters.forget(letter.id);
    return { id };
  }
}

function letterJson(letter: DeadLetter): DeadLetterJson {
  return {
    id: String(letter.id),
    stream_id: letter.streamId,
    version: letter.version,
    handler: letter.handler,
    reason: letter.reason,
    recorded_at: new Date(letter.recordedAt).toISOString(),
  };
}
