import { jobActions } from '@angelia/contracts';
import { z } from 'zod';
import { answer, component, operation, pageOf } from '../../http/operation.ts';
import { limit, moment, routeName, searchText } from '../../http/parse-request.ts';
import { deadLetter } from '../dead-letters/dead-letters.operations.ts';
import { delivery, targetName } from '../deliveries/deliveries.operations.ts';
import { sessionIdFilter } from '../sessions/session-id.ts';
import { Q_IS_NOT_ALONE, qIsAlone, session, sessionFilters } from '../sessions/sessions.operations.ts';

/** How many items a preview shows. */
export const SAMPLE = 10;

const sessionJobFilter = component(
  'SessionJobFilter',
  z
    .strictObject(sessionFilters)
    .refine((filter) => Object.keys(filter).length > 0, {
      message: 'give at least one filter. To mean all sessions, give since: "1970-01-01"',
    })
    .refine(qIsAlone, Q_IS_NOT_ALONE),
);
const deliveryJobFilter = component(
  'DeliveryJobFilter',
  z.strictObject({
    route: routeName.optional(),
    target: targetName.optional(),
    session: sessionIdFilter.optional(),
    since: moment
      .optional()
      .describe('changed at this time or later: ISO 8601, or how long ago: `15m`, `2h`, `7d`'),
    until: moment.optional().describe('changed before this time'),
  }),
);
const deadLetterJobFilter = component(
  'DeadLetterJobFilter',
  z.strictObject({
    handler: searchText
      .max(100)
      .optional()
      .describe('the service that could not process it, or `projection`'),
    session: sessionIdFilter.optional(),
    since: moment.optional().describe('recorded at this time or later'),
    until: moment.optional().describe('recorded before this time'),
  }),
);

/** The filter of each action. */
export const jobFilters = {
  resume: sessionJobFilter,
  cancel: sessionJobFilter,
  erase: sessionJobFilter,
  'retry-deliveries': deliveryJobFilter,
  'replay-dead-letters': deadLetterJobFilter,
} as const satisfies Record<(typeof jobActions)[number], z.ZodType>;

export const newJob = component(
  'NewJob',
  z.strictObject({
    action: z.enum([...jobActions, 'replay']).describe('`replay` is not available yet'),
    filter: z
      .record(z.string(), z.unknown())
      .default({})
      .describe('what to do it with: SessionJobFilter, DeliveryJobFilter or DeadLetterJobFilter, by action'),
    dry_run: z.boolean().default(false).describe('only count, and show the first ten'),
  }),
);

const count = z.number().int().nonnegative();
const time = z.iso.datetime();

const requested = component(
  'RequestedJob',
  z.object({
    job_id: z.uuid().nullable().describe('null for a dry run'),
    matches: count,
    matches_exact: z.boolean().describe('false: at least `matches`'),
    sample: z
      .array(z.union([session, delivery, deadLetter]))
      .describe(`the first ${SAMPLE}, in the order in which the job does them`),
  }),
);
export type RequestedJobJson = z.infer<typeof requested>;

const job = component(
  'Job',
  z.object({
    job_id: z.uuid(),
    action: z.enum(jobActions),
    filter: z.record(z.string(), z.unknown()).describe('times are absolute, and `q` is what it meant'),
    status: z.enum(['queued', 'running', 'cancelling', 'cancelled', 'finished']),
    matches: count.describe('how many there were when it was requested'),
    matches_exact: z.boolean(),
    done: count,
    skipped: count.describe('nothing had to be done any more, or nothing could be done'),
    failed: count,
    skips: z.record(z.string(), count).describe('reasons, and how many of each'),
    failures: z.array(z.object({ id: z.string(), reason: z.string() })).describe('the first 20'),
    requested_by: z.string(),
    requested_at: time,
    started_at: time.nullable(),
    updated_at: time,
    ended_at: time.nullable(),
  }),
);
export type JobJson = z.infer<typeof job>;

export const jobsQuery = z.strictObject({
  id: z
    .string()
    .regex(/^[0-9a-f-]{1,36}$/, 'give the beginning of an id')
    .optional()
    .describe('the beginning of an id'),
  limit,
  cursor: z.uuid('give `next_cursor` of the previous page').optional(),
});

const jobParameter = { id: 'the id of the job' };

export const jobOperations = [
  operation({
    method: 'post',
    path: '/v1/jobs',
    summary: 'Do one thing with everything that a filter finds',
    description:
      'With `dry_run` it only counts and shows the first ten. Otherwise one job does it in the background, at a bounded rate. It ' +
      'leaves out what is created or changed after the request. `cancel` concerns sessions that have not ended, `resume` ' +
      'ended ones (`failed` unless `outcome` says otherwise) that nobody has continued, `erase` settled ones.',
    access: 'admin',
    headers: { 'Idempotency-Key': 'a repeat with the same key returns the same job' },
    body: newJob,
    answers: { 200: answer('the dry run', requested), 202: answer('the job is requested', requested) },
    errors: [400, 409, 422],
  }),
  operation({
    method: 'get',
    path: '/v1/jobs',
    summary: 'Jobs, newest first',
    access: 'admin',
    query: jobsQuery,
    answers: { 200: answer('a page', pageOf('JobPage', job)) },
    errors: [400],
  }),
  operation({
    method: 'get',
    path: '/v1/jobs/{id}',
    summary: 'One job, with its progress or its result',
    access: 'admin',
    parameters: jobParameter,
    answers: { 200: answer('the job', job) },
    errors: [400, 404],
  }),
  operation({
    method: 'post',
    path: '/v1/jobs/{id}/cancel',
    summary: 'Stop a job before its next batch',
    description: 'What it has done stays done. A repeat changes nothing.',
    access: 'admin',
    parameters: jobParameter,
    answers: { 202: answer('it stops', component('JobId', z.object({ job_id: z.uuid() }))) },
    errors: [400, 404, 409],
  }),
];
