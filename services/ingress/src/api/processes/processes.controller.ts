import { OUTPUT_SUBJECT, type OutputRequest, outputAnswerSchema, sessionId } from '@angelia/contracts';
import type { EventLog, ListedProcess } from '@angelia/event-log';
import { BUS, EVENT_LOG, SESSIONS, type ServiceRuntime } from '@angelia/service-kit';
import { decide, type ProcessViewRow } from '@angelia/session';
import type { Sessions } from '@angelia/sessions';
import { pause } from '@angelia/waiting';
import { Controller, Get, HttpCode, Inject, Param, Post, Query, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Actor } from '../../access/caller.ts';
import { parseQuery } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { outputQuery, type ProcessJson, type ProcessOutput, processesQuery } from './processes.operations.ts';

/** The watcher only reads a file. If it takes longer, its host is gone. */
const OUTPUT_TIMEOUT_MS = 3_000;
/** The view is a moment behind: a caller with an id from the session itself may be faster. */
const VIEW_TRIES = 5;
const VIEW_PAUSE_MS = 150;

/** Background processes: the list comes from the view, a kill is decided on the log, the output comes from its host. */
@Controller('/v1/processes')
@UseGuards(AdminTokenGuard)
export class ProcessesController {
  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(SESSIONS) private readonly sessions: Sessions,
    @Inject(BUS) private readonly bus: Pick<ServiceRuntime['bus'], 'request'>,
  ) {}

  @Get()
  async list(@Query() query: unknown): Promise<{ items: ProcessJson[]; next_cursor: string | null }> {
    const { session, id, ...filter } = parseQuery(processesQuery, query);
    const page = await this.log.lists.processes({
      ...filter,
      ...(session === undefined ? {} : { sessionId: session }),
      ...(id === undefined ? {} : { idPrefix: id }),
    });
    return { items: page.items.map(processJson), next_cursor: page.nextCursor };
  }

  /** Records a fact that the watcher acts on, even if it is down now. The end comes as `process.exited`. */
  @Post('/:id/kill')
  @HttpCode(202)
  async kill(@Param('id') id: string, @Actor() actor: string): Promise<{ id: string; session_id: string }> {
    const found = await this.#find(id);
    const executed = await this.sessions.execute(
      sessionId(found.sessionId),
      ({ state }) => decide(state, { type: 'request-kill', processId: id, by: 'api' }),
      { actor },
    );
    if (executed.status === 'refused') {
      // A session forgets processes that ended long ago.
      const over = executed.code === 'unknown_process' ? 'this process ended long ago' : executed.reason;
      throw new Refusal(409, 'process_over', over);
    }
    return { id, session_id: found.sessionId };
  }

  @Get('/:id/output')
  async output(@Param('id') id: string, @Query() query: unknown): Promise<ProcessOutput> {
    const { offset, bytes } = parseQuery(outputQuery, query);
    const { sessionId: session, status } = await this.#find(id);
    const request: OutputRequest = {
      session_id: session,
      process_id: id,
      offset: offset ?? null,
      limit: bytes,
    };
    const answer = await this.bus
      .request(OUTPUT_SUBJECT, JSON.stringify(request), OUTPUT_TIMEOUT_MS)
      .catch(() => null);
    if (answer === null) {
      throw new Refusal(
        503,
        'output_unavailable',
        'the host of this process does not answer, or no longer has its output: the event process.exited has the last lines',
      );
    }
    return { id, session_id: session, status, ...outputAnswerSchema.parse(JSON.parse(answer)) };
  }

  async #find(id: string): Promise<ListedProcess> {
    if (!/^[\x21-\x7e]{1,100}$/.test(id)) {
      throw new Refusal(400, 'bad_process_id', 'this is not a process id: GET /v1/processes lists them');
    }
    for (let tries = 1; ; tries += 1) {
      const [found] = (await this.log.lists.processes({ processId: id, limit: 1 })).items;
      if (found !== undefined) return found;
      if (tries >= VIEW_TRIES) break;
      await pause(VIEW_PAUSE_MS);
    }
    throw new Refusal(
      404,
      'unknown_process',
      'there is no process with this id: GET /v1/processes lists them',
    );
  }
}

function processJson(row: ListedProcess): ProcessJson {
  const detail = row.detail as ProcessViewRow['detail'];
  return {
    id: row.processId,
    session_id: row.sessionId,
    status: detail.status,
    command: detail.command,
    host: detail.host,
    pid: detail.pid,
    started_at: detail.started_at,
    ended_at: detail.ended_at,
    exit_code: detail.exit_code,
    signal: detail.signal,
    notify_on_complete: detail.notify_on_complete,
    watched: detail.watched,
  };
}
