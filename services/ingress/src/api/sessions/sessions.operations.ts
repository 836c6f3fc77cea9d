import type { ProcessSummary, SessionSummary } from '@angelia/session';
import { z } from 'zod';
import { answer, component, operation, pageFields } from '../../http/operation.ts';
import { cursor, limit, moment, routeName, searchText } from '../../http/parse-request.ts';
import type { EventJson } from './event-json.ts';
import { sessionIdJson, sessionIdParameter } from './session-id.ts';

const time = z.iso.datetime();
const count = z.number().int().nonnegative();
const status = z.enum(['queued', 'running', 'waiting', 'ended']);
const waitingFor = z.enum(['person', 'approval', 'model', 'process']);
const outcome = z.enum(['succeeded', 'failed', 'cancelled', 'expired']);
const name = searchText.max(200);

/** Of the list, and of jobs on sessions. */
export const sessionFilters = {
  route: routeName.optional(),
  status: status.optional(),
  waiting_for: waitingFor.optional().describe('only sessions that wait for this'),
  outcome: outcome.optional().describe('how it ended'),
  since: moment
    .optional()
    .describe('created at this time or later: ISO 8601, or how long ago: `15m`, `2h`, `7d`'),
  until: moment.optional().describe('created before this time'),
  ended_since: moment.optional().describe('ended at this time or later'),
  agent: name.optional(),
  model: name.optional().describe('the model that answered last'),
  failure: name.optional().describe('the code of the failure, as in `failure.code`'),
  title: name.optional().describe('a part of the title, in upper or lower case'),
  delivery_id: searchText.optional().describe('the whole delivery id'),
  q: name
    .optional()
    .describe(
      'the beginning of an id (8 characters or more), else a whole delivery id, else a part of the title; the first of ' +
        'these that some session has',
    ),
};

/**
 * `q` becomes one of these. Beside it, the given one would be lost without a word, and a job would erase more than it was
 * asked to.
 */
const SAME_AS_Q = ['id', 'title', 'delivery_id'] as const;

export function qIsAlone(filter: { readonly [name in (typeof SAME_AS_Q)[number] | 'q']?: unknown }): boolean {
  return filter.q === undefined || SAME_AS_Q.every((name) => filter[name] === undefined);
}
export const Q_IS_NOT_ALONE = {
  path: ['q'],
  message: 'it finds by title, id or delivery id: give it without `title`, `id` and `delivery_id`',
};

export const sessionsQuery = z
  .strictObject({
    ...sessionFilters,
    id: z
      .string()
      .regex(/^[0-9a-f-]{1,36}$/, 'give the beginning of an id')
      .optional()
      .describe('the beginning of an id'),
    continues: z.uuid().optional().describe('only the continuations of this session'),
    sort: z
      .enum(['newest', 'oldest', 'active', 'longest', 'tokens'])
      .default('newest')
      .describe(
        '`active`, `longest` and `tokens` give one page, and need a filter that matches few sessions',
      ),
    count: z
      .enum(['true', 'false'])
      .optional()
      .transform((given) => given === 'true')
      .describe('also count the sessions that fit'),
    limit,
    cursor,
  })
  .refine(qIsAlone, Q_IS_NOT_ALONE);

export const processSummarySchema = component(
  'Process',
  z.object({
    id: z.string(),
    status: z.enum(['running', 'exited', 'lost']),
    command: z.string(),
    host: z.string(),
    pid: z.number().int(),
    started_at: time,
    ended_at: time.nullable(),
    exit_code: z.number().int().nullable(),
    signal: z.string().nullable(),
    notify_on_complete: z.boolean(),
    watched: z.boolean(),
  } satisfies Readonly<Record<keyof ProcessSummary, z.ZodType>>),
);

export const session: z.ZodType<SessionSummary> = component(
  'Session',
  z.object({
    id: z.uuid(),
    title: z.string(),
    route: z.string(),
    event: z.string().nullable(),
    delivery_id: z.string(),
    status,
    waiting_for: waitingFor
      .nullable()
      .describe('only while the status is `waiting`; more values may be added'),
    retry_at: time.nullable().describe('only while it waits for a model: when it tries again'),
    outcome: outcome.nullable(),
    failure: z
      .object({ code: z.string(), message: z.string().describe('for the operator, shortened') })
      .nullable()
      .describe('why the last turn failed or expired, or why it waits for a model'),
    end_reason: z.string().nullable().describe('`webhook_complete` if a webhook started it'),
    created_at: time,
    last_activity_at: time,
    ended_at: time.nullable(),
    generation: count.describe('how many runs were started'),
    version: count.describe('version of the last event'),
    agent: z.string(),
    model: z.string().nullable(),
    usage: z.object({ input_tokens: count, output_tokens: count }),
    deliver: z.object({ target: z.string(), to: z.record(z.string(), z.unknown()) }),
    deliveries: z
      .object({ pending: count, delivered: count, dead: count, dropped: count })
      .describe('if the session has ended and nothing is pending, it is settled'),
    processes: z.array(processSummarySchema),
    trace_id: z.string().nullable(),
    continues: z.uuid().optional().describe('only on a continuation: the session that it continues'),
    answer_cut: z.literal(true).optional().describe("only if the last answer was cut at the model's limit"),
    clarification: z
      .object({ id: z.string(), deadline: time })
      .optional()
      .describe('only while a question is open'),
    approval: z
      .object({ id: z.string(), tool: z.string(), expires_at: time })
      .optional()
      .describe('only while a request for approval is open'),
  }),
);

const sessionPage = component(
  'SessionPage',
  pageFields(session).extend({
    count: count.optional().describe('only with `count=true`'),
    count_exact: z.boolean().optional().describe('false: at least `count`'),
  }),
);

const event: z.ZodType<EventJson> = component(
  'Event',
  z.object({
    position: count,
    version: count,
    type: z.string().describe('more types may be added: ignore types that you do not know'),
    recorded_at: time,
    data: z.unknown(),
    meta: z.unknown(),
  }),
);

const message = component(
  'Message',
  z.object({
    role: z.enum(['user', 'assistant', 'tool']),
    content: z.string(),
    tool_calls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.string() })).optional(),
    tool_call_id: z.string().optional(),
    turn: z.number().int().optional(),
    outcome: outcome.optional(),
    silent: z.boolean().optional(),
  }),
);

export const sessionOperations = [
  operation({
    method: 'get',
    path: '/v1/sessions',
    summary: 'Sessions, newest first; a moment behind the log',
    description:
      'A page may have fewer items than `limit`, or none, and still a `next_cursor`: then few sessions fit, and there are ' +
      'more to look at. `count` is exact up to 100,000 sessions that were looked at; beyond that it is a lower bound.',
    access: 'admin',
    query: sessionsQuery,
    answers: { 200: answer('a page', sessionPage) },
    errors: [400],
  }),
  operation({
    method: 'get',
    path: '/v1/sessions/{id}',
    summary: 'One session, folded from the log; always current',
    access: 'admin',
    parameters: sessionIdParameter,
    answers: { 200: answer('the session', session) },
    errors: [400, 404],
  }),
  operation({
    method: 'delete',
    path: '/v1/sessions/{id}',
    summary: 'Erase a session: every event and row of it, at once',
    description:
      'For a request of the person that the session is about. The session must be settled, else 409. A continuation ' +
      'has a copy of the conversation and is erased by its own id. A repeat of its webhook is still a duplicate.',
    access: 'admin',
    parameters: sessionIdParameter,
    answers: { 200: answer('erased', sessionIdJson) },
    errors: [400, 404, 409],
  }),
  operation({
    method: 'get',
    path: '/v1/sessions/{id}/events',
    summary: 'Everything that happened in a session',
    access: 'admin',
    parameters: sessionIdParameter,
    answers: {
      200: answer('all events', component('EventList', z.object({ items: z.array(event) }))),
    },
    errors: [400, 404],
  }),
  operation({
    method: 'get',
    path: '/v1/sessions/{id}/transcript',
    summary: 'The conversation as the model sees it',
    access: 'admin',
    parameters: sessionIdParameter,
    answers: {
      200: answer('all messages', component('Transcript', z.object({ messages: z.array(message) }))),
    },
    errors: [400, 404],
  }),
  operation({
    method: 'post',
    path: '/v1/sessions/{id}/cancel',
    summary: 'End a session now, as `cancelled`',
    access: 'admin',
    parameters: sessionIdParameter,
    answers: { 202: answer('cancelled', sessionIdJson) },
    errors: [400, 404, 409],
  }),
];
