import type { JobAction } from '@angelia/contracts';
import { isSessionId, sessionId } from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import { isOpen, type Job, type JobFilter, Jobs } from '@angelia/jobs';
import { BUS, EVENT_LOG, SESSIONS } from '@angelia/service-kit';
import { sessionSummary } from '@angelia/session';
import type { Sessions } from '@angelia/sessions';
import {
  Body,
  Controller,
  Get,
  Headers,
  HttpCode,
  Inject,
  Param,
  Post,
  Query,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Actor } from '../../access/caller.ts';
import { idempotencyKey } from '../../http/idempotency-key.ts';
import { parseBody, parseQuery } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { letterJson } from '../dead-letters/dead-letter-json.ts';
import { deliveryJson } from '../deliveries/delivery-json.ts';
import {
  type JobJson,
  jobFilters,
  jobsQuery,
  newJob,
  type RequestedJobJson,
  SAMPLE,
} from './jobs.operations.ts';

/** A queue of jobs is somebody's script in a loop. They run one after the other. */
const MOST_OPEN = 20;

@Controller('/v1/jobs')
@UseGuards(AdminTokenGuard)
export class JobsController {
  readonly #jobs: Jobs;

  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(SESSIONS) private readonly sessions: Sessions,
    @Inject(BUS) bus: { ping(subject: string): void },
  ) {
    this.#jobs = new Jobs(log, bus);
  }

  @Post()
  async request(
    @Body() body: unknown,
    @Headers('idempotency-key') header: string | undefined,
    @Actor() actor: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RequestedJobJson> {
    const key = idempotencyKey('api:job', header);
    const { action, filter: given, dry_run: isDryRun } = parseBody(newJob, body);
    if (action === 'replay') {
      throw new Refusal(
        422,
        'not_available',
        'the action `replay` is not available yet: use resume, cancel, retry-deliveries, replay-dead-letters or erase',
      );
    }
    const filter = await this.#filterOf(action, given);
    const preview = await this.#jobs.preview({ action, filter }, SAMPLE);
    const sample = (await Promise.all(preview.sample.map((id) => this.#itemJson(action, id)))).flat();
    reply.code(isDryRun ? 200 : 202);
    return {
      job_id: isDryRun ? null : await this.#request({ action, filter }, preview, { actor, key }),
      matches: preview.count,
      matches_exact: preview.exact,
      sample,
    };
  }

  @Get()
  async list(@Query() query: unknown): Promise<{ items: JobJson[]; next_cursor: string | null }> {
    const { limit, cursor, id = '' } = parseQuery(jobsQuery, query);
    const jobs = await this.#jobs.list({ limit: limit + 1, before: cursor, prefix: id });
    const items = jobs.slice(0, limit).map(jobJson);
    return { items, next_cursor: jobs.length > limit ? (items.at(-1)?.job_id ?? null) : null };
  }

  @Get('/:id')
  async show(@Param('id') id: string): Promise<JobJson> {
    const job = await this.#jobs.load(wholeJobId(id));
    if (job === null) throw unknownJob();
    return jobJson(job);
  }

  @Post('/:id/cancel')
  @HttpCode(202)
  async cancel(@Param('id') id: string, @Actor() actor: string): Promise<{ job_id: string }> {
    const job = await this.#jobs.cancel(wholeJobId(id), actor);
    if (job === null) throw unknownJob();
    if (!isOpen(job) && job.status !== 'cancelled') {
      throw new Refusal(409, 'job_over', 'this job cannot be cancelled: it has finished');
    }
    return { job_id: job.id };
  }

  async #request(
    wanted: { readonly action: JobAction; readonly filter: JobFilter },
    preview: Parameters<Jobs['request']>[1],
    { actor, key }: { readonly actor: string; readonly key: ReturnType<typeof idempotencyKey> },
  ): Promise<string> {
    if ((await this.#jobs.open()).length >= MOST_OPEN) {
      throw new Refusal(
        409,
        'too_many_jobs',
        `${MOST_OPEN} jobs wait already: wait until some have finished, or cancel some`,
      );
    }
    return this.#jobs.request(wanted, preview, { actor, ...(key === undefined ? {} : { key }) });
  }

  /** With absolute times, and with what `q` means now: the job itself may change what a text would find. */
  async #filterOf(action: JobAction, given: unknown): Promise<JobFilter> {
    const { since, until, ended_since: endedSince, q, ...rest } = parseFilter(action, given);
    const { status } = rest as { status?: string };
    const wrongStatus = action === 'cancel' ? status === 'ended' : status !== undefined && status !== 'ended';
    if (wrongStatus) {
      throw new Refusal(
        400,
        'bad_body',
        `body field \`filter.status\`: ${action} concerns sessions that have ${action === 'cancel' ? 'not ended' : 'ended'}`,
      );
    }
    const meant = q === undefined ? {} : await this.log.lists.meaningOf(q);
    return {
      ...rest,
      ...(since === undefined ? {} : { since: new Date(since).toISOString() }),
      ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
      ...(endedSince === undefined ? {} : { ended_since: new Date(endedSince).toISOString() }),
      ...(meant.idPrefix === undefined ? {} : { id_prefix: meant.idPrefix }),
      ...(meant.deliveryId === undefined ? {} : { delivery_id: meant.deliveryId }),
      ...(meant.title === undefined ? {} : { title: meant.title }),
    };
  }

  /** Empty: it is gone since it was found. */
  async #itemJson(action: JobAction, id: string): Promise<RequestedJobJson['sample']> {
    switch (action) {
      case 'retry-deliveries': {
        const [session = '', output] = id.split('.');
        const page = await this.log.lists.deliveries({
          sessionId: session,
          output: Number(output),
          limit: 1,
        });
        return page.items.map(deliveryJson);
      }
      case 'replay-dead-letters':
        return (await this.log.deadLetters.list({ limit: 1, id: Number(id) })).map(letterJson);
      default: {
        const { state } = await this.sessions.load(sessionId(id));
        const summary = sessionSummary(id, state);
        return summary === null ? [] : [summary];
      }
    }
  }
}

interface ParsedFilter extends Omit<JobFilter, 'since' | 'until' | 'ended_since'> {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly ended_since?: number | undefined;
  readonly q?: string | undefined;
}

/** @throws Refusal 400 that names the field */
function parseFilter(action: JobAction, given: unknown): ParsedFilter {
  try {
    return parseBody(jobFilters[action], given);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const message = error.message
      .replace(/^body field `/, 'body field `filter.')
      .replace(/^the body: /, 'body field `filter`: ');
    throw new Refusal(400, error.code, message);
  }
}

function wholeJobId(text: string): string {
  if (isSessionId(text)) return text;
  throw new Refusal(
    400,
    'bad_job_id',
    'this is not the id of a job: give the whole uuid, as in GET /v1/jobs',
  );
}

function unknownJob(): Refusal {
  return new Refusal(404, 'unknown_job', 'there is no job with this id: GET /v1/jobs lists the jobs');
}

function jobJson(job: Job): JobJson {
  const time = (ms: number) => new Date(ms).toISOString();
  return {
    job_id: job.id,
    action: job.action,
    filter: { ...job.filter },
    status: job.status,
    matches: job.matches,
    matches_exact: job.matchesExact,
    ...job.progress,
    requested_by: job.requestedBy,
    requested_at: time(job.requestedAt),
    started_at: job.startedAt === null ? null : time(job.startedAt),
    updated_at: time(job.updatedAt),
    ended_at: job.endedAt === null ? null : time(job.endedAt),
  };
}
