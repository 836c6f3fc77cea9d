import type { EventLog } from '@angelia/event-log';
import { cancelSession, eraseSettled, NotCaughtUp } from '@angelia/jobs';
import { BUS, EVENT_LOG, SESSIONS } from '@angelia/service-kit';
import {
  type Message,
  type SessionState,
  type SessionSummary,
  sessionSummary,
  transcript,
} from '@angelia/session';
import type { Loaded, Sessions } from '@angelia/sessions';
import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Actor } from '../../access/caller.ts';
import { parseQuery } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { type EventJson, eventJson } from './event-json.ts';
import { sessionFilter } from './session-filter.ts';
import { unknownSession, wholeSessionId } from './session-id.ts';
import { sessionsQuery } from './sessions.operations.ts';

interface ListedSessions {
  readonly items: SessionSummary[];
  readonly next_cursor: string | null;
  readonly count?: number;
  readonly count_exact?: boolean;
}

/** Lists come from the views and may be a moment behind. One session is folded from its stream and always current. */
@Controller('/v1/sessions')
@UseGuards(AdminTokenGuard)
export class SessionsController {
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(SESSIONS) private readonly sessions: Sessions,
    @Inject(BUS) private readonly bus: { ping(subject: string): void },
  ) {}

  @Get()
  async list(@Query() query: unknown): Promise<ListedSessions> {
    const { sort, count, limit, cursor, id, ...given } = parseQuery(sessionsQuery, query);
    const filter = await sessionFilter(this.log, { ...given, ...(id === undefined ? {} : { idPrefix: id }) });
    const [page, counted] = await Promise.all([
      this.log.lists.sessions({ ...filter, sort, limit, cursor }),
      count ? this.log.lists.countSessions(filter) : null,
    ]);
    const items = page.items.flatMap((row) => sessionSummary(row.sessionId, row.state as SessionState) ?? []);
    return {
      items,
      next_cursor: page.nextCursor,
      ...(counted === null ? {} : { count: counted.count, count_exact: counted.exact }),
    };
  }

  @Get('/:id')
  async show(@Param('id') id: string): Promise<SessionSummary> {
    const loaded = await this.#load(id);
    const summary = sessionSummary(loaded.id, loaded.state);
    if (summary === null) throw unknownSession();
    return summary;
  }

  @Get('/:id/events')
  async events(@Param('id') id: string): Promise<{ items: EventJson[] }> {
    return { items: (await this.#load(id)).events.map(eventJson) };
  }

  @Get('/:id/transcript')
  async transcript(@Param('id') id: string): Promise<{ messages: Message[] }> {
    return { messages: transcript((await this.#load(id)).events) };
  }

  @Post('/:id/cancel')
  @HttpCode(202)
  async cancel(@Param('id') id: string, @Actor() actor: string): Promise<{ session_id: string }> {
    const session = wholeSessionId(id);
    const executed = await cancelSession({ sessions: this.sessions, bus: this.bus }, session, {
      by: 'api',
      actor,
    });
    if (executed.status === 'refused') {
      if (executed.code === 'unknown_session') throw unknownSession();
      throw new Refusal(409, executed.code, `this session cannot be cancelled: ${executed.reason}`);
    }
    return { session_id: session };
  }

  /** For a data subject's request: removes every event and row at once. The idempotency key of its delivery stays for its time. */
  @Delete('/:id')
  async erase(@Param('id') id: string): Promise<{ session_id: string }> {
    const session = wholeSessionId(id);
    const { log, sessions, bus } = this;
    switch (await eraseSettled({ log, sessions, bus }, session).catch(refusedIfBehind)) {
      case 'erased':
        return { session_id: session };
      case 'unknown_session':
        throw unknownSession();
      case 'not_settled':
        throw new Refusal(
          409,
          'not_settled',
          'this session is still running or has something to deliver: cancel it, and try again when `deliveries.pending` is 0',
        );
    }
  }

  async #load(id: string): Promise<Loaded> {
    const loaded = await this.sessions.load(wholeSessionId(id));
    if (loaded.version === 0) throw unknownSession();
    return loaded;
  }
}

function refusedIfBehind(error: unknown): never {
  if (!(error instanceof NotCaughtUp)) throw error;
  throw new Refusal(503, error.code, error.message, 1);
}
