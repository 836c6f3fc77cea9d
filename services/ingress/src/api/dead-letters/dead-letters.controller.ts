import type { EventLog } from '@angelia/event-log';
import { replayDeadLetter } from '@angelia/jobs';
import { BUS, EVENT_LOG } from '@angelia/service-kit';
import { Controller, Get, HttpCode, Inject, Param, Post, Query, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { parseQuery } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { letterJson } from './dead-letter-json.ts';
import { type DeadLetterJson, deadLettersQuery } from './dead-letters.operations.ts';

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
    if (!(await replayDeadLetter(this.log, this.bus, letter))) {
      throw new Refusal(
        409,
        'no_hint',
        'this dead letter holds no hint of ours, so there is nothing to replay',
      );
    }
    return { id };
  }
}
