import {
  JOB_STREAMS,
  JOBS_PING_SUBJECT,
  type JobAction,
  type JobEventData,
  type JobFact,
  jobIdOf,
  jobStreamId,
} from '@angelia/contracts';
import type { AppendRequest, AppendResult, Count, EventLog } from '@angelia/event-log';
import { newEventId, uuidV7 } from '@angelia/sessions';
import { actions } from './actions/all-actions.ts';
import type { JobFilter } from './filter.ts';
import { foldJob, isOpen, type Job } from './job.ts';

interface Wanted {
  readonly action: JobAction;
  readonly filter: JobFilter;
}

export interface Preview extends Count {
  /** The first ones, in the order in which the job does them. */
  readonly sample: readonly string[];
  /** By the database's clock. */
  readonly before: number;
}

interface JobPage {
  readonly limit: number;
  readonly before?: string | undefined;
  readonly prefix?: string | undefined;
}

/** The jobs as the log has them: always current. */
export class Jobs {
  readonly #log: EventLog;
  readonly #bus: { ping(subject: string): void };

  constructor(log: EventLog, bus: { ping(subject: string): void }) {
    this.#log = log;
    this.#bus = bus;
  }

  /** What a job would do, if it were requested now. */
  async preview({ action, filter }: Wanted, sampleSize: number): Promise<Preview> {
    const before = await this.#log.now();
    const selection = { filter, before };
    const [counted, selected] = await Promise.all([
      actions[action].count(this.#log, selection),
      actions[action].select(this.#log, selection, null, sampleSize),
    ]);
    return { ...counted, sample: selected.ids, before };
  }

  /** Returns the id of the job. The same key returns the same job. */
  async request(
    { action, filter }: Wanted,
    { count, exact, before }: Preview,
    given: { readonly actor: string; readonly key?: AppendRequest['key'] },
  ): Promise<string> {
    const id = uuidV7();
    const data: JobEventData<'job.requested'> = {
      action,
      filter: { ...filter },
      before: new Date(before).toISOString(),
      matches: count,
      matches_exact: exact,
    };
    const result = await this.append({ id, version: 0 }, { type: 'job.requested', data }, given);
    if (result.status === 'duplicate') return jobIdOf(result.streamId);
    if (result.status !== 'appended') throw new Error(`requesting a job returned ${result.status}`);
    this.#bus.ping(JOBS_PING_SUBJECT);
    return id;
  }

  async load(id: string): Promise<Job | null> {
    return foldJob(id, await this.#log.streams.readEnds(jobStreamId(id)));
  }

  /** Newest first. `before`: the id of the last one of the previous page. `prefix`: the beginning of ids. */
  async list({ limit, before, prefix = '' }: JobPage): Promise<Job[]> {
    const heads = await this.#log.streams.heads({
      from: jobStreamId(prefix),
      // `g` is behind every digit of an id.
      to: jobStreamId(before ?? `${prefix}g`),
      limit,
    });
    return this.#loadAll(heads.map(({ streamId }) => streamId));
  }

  /** Jobs that are not over, oldest first. */
  async open(): Promise<Job[]> {
    const [from, to] = JOB_STREAMS;
    const heads = await this.#log.streams.heads({ from, to, limit: MOST_LOOKED_AT });
    const open = heads.filter(({ type }) => type !== 'job.finished' && type !== 'job.cancelled');
    return this.#loadAll(open.map(({ streamId }) => streamId).reverse());
  }

  async #loadAll(streamIds: readonly string[]): Promise<Job[]> {
    const jobs = await Promise.all(streamIds.map((streamId) => this.load(jobIdOf(streamId))));
    return jobs.filter((job) => job !== null);
  }

  /** The leader stops it before its next batch. Null: there is no such job. */
  async cancel(id: string, by: string): Promise<Job | null> {
    for (;;) {
      const job = await this.load(id);
      if (job === null || !isOpen(job) || job.status === 'cancelling') return job;
      const result = await this.append(job, { type: 'job.cancel-requested', data: { by } }, { actor: by });
      if (result.status !== 'appended') continue; // It made progress.
      this.#bus.ping(JOBS_PING_SUBJECT);
      return { ...job, status: 'cancelling', version: job.version + 1 };
    }
  }

  /** One event behind the version that was read. */
  append(
    { id, version }: Pick<Job, 'id' | 'version'>,
    { type, data }: JobFact,
    given: { readonly actor: string; readonly key?: AppendRequest['key'] },
  ): Promise<AppendResult> {
    const meta = { actor: given.actor, correlation: id };
    return this.#log.append({
      streams: [
        {
          streamId: jobStreamId(id),
          expectedVersion: version,
          events: [{ eventId: newEventId(), type, data, meta }],
        },
      ],
      ...(given.key === undefined ? {} : { key: given.key }),
    });
  }
}

/** Two look-ups each by the primary key. Old ones are pruned. */
const MOST_LOOKED_AT = 1_000;
