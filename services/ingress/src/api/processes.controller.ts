import type { EventLog, ListedProcess } from '@angelia/event-log';
import { EVENT_LOG } from '@angelia/service-kit';
import type { ProcessViewRow } from '@angelia/session';
import { Controller, Get, Inject, Param, Post, Query, UseGuards } from '@nestjs/common';
import { Refusal } from '../refusal.ts';
import { AdminTokenGuard } from './admin-token.guard.ts';
import { type ProcessJson, processesQuery } from './processes.operations.ts';
import { parseQuery } from './query.ts';

@Controller('/v1/processes')
@UseGuards(AdminTokenGuard)
export class ProcessesController {
  constructor(@Inject(EVENT_LOG) private readonly log: EventLog) {}

  @Get()
  async list(@Query() query: unknown): Promise<{ items: ProcessJson[]; next_cursor: string | null }> {
    const { session, ...filter } = parseQuery(processesQuery, query);
    const page = await this.log.listProcesses({
      ...filter,
      ...(session === undefined ? {} : { sessionId: session }),
    });
    return { items: page.items.map(processJson), next_cursor: page.nextCursor };
  }

  /** The domain has no fact yet that asks for it, and nothing is claimed that will not happen (no-silent-downgrade). */
  @Post('/:id/kill')
  async kill(@Param('id') id: string): Promise<never> {
    if (!/^[\x21-\x7e]{1,100}$/.test(id)) {
      throw new Refusal(400, 'bad_process_id', 'this is no process id: GET /v1/processes gives them');
    }
    const [found] = (await this.log.listProcesses({ processId: id, limit: 1 })).items;
    if (found === undefined) {
      throw new Refusal(
        404,
        'unknown_process',
        'there is no process with this id: GET /v1/processes lists them',
      );
    }
    if (found.status !== 'running') {
      throw new Refusal(409, 'process_over', `this process is not running any more: it is ${found.status}`);
    }
    throw new Refusal(
      501,
      'not_built',
      `process-watcher takes no kill from the API in this version: end it on its host (${processJson(found).host}, pid ${processJson(found).pid})`,
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
