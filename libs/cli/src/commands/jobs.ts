import type { Job } from '../api/types.ts';
import { type Context, defineCommand } from '../command-line/command.ts';
import { toneOf } from '../terminal/style.ts';
import { type Column, fields, table } from '../terminal/table.ts';
import { agoText } from '../terminal/time.ts';
import { countText, followJob, resultText } from './follow-job.ts';
import { fetchPage, noteMore, pagingOptions } from './paging.ts';

const jobArgument = {
  name: 'job',
  names: 'job',
  summary: 'the id of the job, or enough of its beginning',
} as const;
const pathOf = (id: string): string => `/v1/jobs/${encodeURIComponent(id)}`;
const EXAMPLE = '01a1e2a4-77c1-7d0e-9a53-0c6f3f1f2b11';

export const jobsList = defineCommand({
  name: 'jobs list',
  isDefault: true,
  summary: 'list jobs, newest first',
  description: '`resume`, `cancel`, `erase`, `retry` and `dead-letters replay` with filters make a job.',
  options: pagingOptions,
  examples: [{ command: 'angelia jobs', does: 'what was done with many at once, and how far it is' }],
  calls: ['get /v1/jobs'],
  run: async (context) => {
    const { out, runtime } = context;
    const page = await fetchPage<Job>(context, '/v1/jobs');
    const columns: Column<Job>[] = [
      { head: 'JOB', text: ({ job_id: id }) => id },
      { head: 'STATUS', text: ({ status }) => status, tone: ({ status }) => toneOf(status) },
      { head: 'ACTION', text: ({ action }) => action },
      { head: 'DONE', text: ({ done }) => String(done), right: true, dropped: 2 },
      { head: 'OF', text: countText, right: true, dropped: 2 },
      { head: 'SKIPPED', text: ({ skipped }) => String(skipped), right: true, dropped: 4 },
      {
        head: 'FAILED',
        text: ({ failed }) => String(failed),
        tone: ({ failed }) => (failed > 0 ? 'bad' : 'plain'),
        right: true,
        dropped: 3,
      },
      {
        head: 'REQUESTED',
        text: ({ requested_at: at }) => agoText(at, runtime.now()),
        tone: () => 'dim',
        dropped: 5,
      },
      { head: 'FILTER', text: filterText, flexible: true, dropped: 1 },
    ];
    out.answer(page, () => (page.items.length === 0 ? '' : table(page.items, columns, out)));
    noteMore(context, page, 'jobs');
    return undefined;
  },
});

export const jobsShow = defineCommand({
  name: 'jobs show',
  summary: 'show one job, with its progress or its result',
  arguments: [jobArgument],
  options: { follow: { short: 'f', summary: 'keep running and show the progress until the job is over' } },
  examples: [
    { command: `angelia jobs show ${EXAMPLE}`, does: 'how far is it?' },
    { command: `angelia jobs show -f ${EXAMPLE}`, does: 'until it is over; exit code 1 if something failed' },
  ],
  calls: ['get /v1/jobs/{id}'],
  run: async (context) => {
    const { api, given, out } = context;
    const id = given.argument('job') ?? '';
    if (given.switch('follow')) return followJob(context, id);
    const job = await api().get<Job>(pathOf(id));
    out.answer(job, () => jobFields(job, context));
    return undefined;
  },
});

export const jobsCancel = defineCommand({
  name: 'jobs cancel',
  summary: 'stop a job before its next batch; what it has done stays done',
  description: 'Exit code 6 means that the job has already finished.',
  arguments: [jobArgument],
  examples: [{ command: `angelia jobs cancel ${EXAMPLE}`, does: 'stop it' }],
  calls: ['post /v1/jobs/{id}/cancel'],
  run: async ({ api, given, out }) => {
    const taken = await api().send<{ job_id: string }>(
      'POST',
      `${pathOf(given.argument('job') ?? '')}/cancel`,
    );
    out.answer(taken, () => `job ${taken.job_id} stops: angelia jobs show ${taken.job_id}`);
    return undefined;
  },
});

function filterText({ filter }: Job): string {
  return Object.entries(filter)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

function jobFields(job: Job, { out, runtime }: Context): string {
  const at = (iso: string | null): string => (iso === null ? '-' : `${iso} (${agoText(iso, runtime.now())})`);
  return fields(
    [
      ['job', job.job_id, 'bold'],
      ['action', job.action],
      ['filter', filterText(job) || '-'],
      ['status', job.status, toneOf(job.status)],
      ['found', countText(job)],
      ['result', resultText(job), job.failed > 0 ? 'bad' : 'plain'],
      ['failures', job.failures.map(({ id, reason }) => `${id}: ${reason}`).join('\n') || '-'],
      ['requested', `${at(job.requested_at)} by ${job.requested_by}`],
      ['started', at(job.started_at)],
      ['ended', at(job.ended_at)],
    ],
    out.style,
  );
}
