import type { ProcessSummary, SessionSummary } from '@angelia/session';
import { z } from 'zod';
import { type Answer, answer, component, operation, pageOf } from '../../http/operation.ts';
import { cursor, limit, routeName } from '../../http/parse-request.ts';
import type { EventJson } from './event-json.ts';

export const sessionsQuery = z.strictObject({
  route: routeName.optional(),
  status: z.enum(['queued', 'running', 'waiting', 'ended']).optional(),
  limit,
  cursor,
});

const time = z.iso.datetime();
const count = z.number().int().nonnegative();
const outcome = z.enum(['succeeded', 'failed', 'cancelled', 'expired']);

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

const session: z.ZodType<SessionSummary> = component(
  'Session',
  z.object({
    id: z.uuid(),
    title: z.string(),
    route: z.string(),
    event: z.string().nullable(),
    delivery_id: z.string(),
    status: z.enum(['queued', 'running', 'waiting', 'ended']),
    outcome: outcome.nullable(),
    end_reason: z.string().nullable().describe('`webhook_complete` for what a webhook began'),
    created_at: time,
    last_activity_at: time,
    ended_at: time.nullable(),
    generation: count.describe('how many runs were started'),
    version: count.describe('version of the last event'),
    model: z.string().nullable(),
    usage: z.object({ input_tokens: count, output_tokens: count }),
    deliver: z.object({ target: z.string(), to: z.record(z.string(), z.unknown()) }),
    deliveries: z
      .object({ pending: count, delivered: count, dead: count, dropped: count })
      .describe('ended and nothing pending: everything is settled'),
    processes: z.array(processSummarySchema),
    trace_id: z.string().nullable(),
    continues: z.uuid().optional().describe('only on a continuation: the session that it goes on from'),
    clarification: z
      .object({ id: z.string(), deadline: time })
      .optional()
      .describe('only while a question is open'),
  }),
);

const event: z.ZodType<EventJson> = component(
  'Event',
  z.object({
    position: count,
    version: count,
    type: z.string().describe('more types may be added: ignore those that you do not know'),
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

export const newMessage = component(
  'NewMessage',
  z.strictObject({
    text: z
      .string()
      .regex(/\S/, 'some text is wanted')
      .describe('the answer to the open question, or what the agent is told next'),
    new_turn: z
      .boolean()
      .default(false)
      .describe(
        'do not take it for the answer to an open question: the question is closed, the turn that asked it is ' +
          'cancelled, and this one runs next',
      ),
  }),
);

const sessionId = component('SessionId', z.object({ session_id: z.uuid() }));

const id = { id: 'the whole id of the session' };

/** What a POST that begins something may carry. */
const idempotencyKey = {
  'Idempotency-Key': 'a POST that is repeated with the same key is taken once, and gets the same answer',
};

const eventStream: Answer = {
  description:
    'server-sent events: `id` is the version, `data` one event as JSON. What is stored comes first, then what ' +
    'happens. The stream ends when the session is settled.',
  schema: component('EventStream', z.string()),
  contentType: 'text/event-stream',
};

export const sessionOperations = [
  operation({
    method: 'get',
    path: '/v1/sessions',
    summary: 'Sessions, newest first; a moment behind the log',
    access: 'admin',
    query: sessionsQuery,
    answers: { 200: answer('a page', pageOf('SessionPage', session)) },
    errors: [400],
  }),
  operation({
    method: 'get',
    path: '/v1/sessions/{id}',
    summary: 'One session, folded from the log: always current',
    access: 'admin',
    parameters: id,
    answers: { 200: answer('the session', session) },
    errors: [400, 404],
  }),
  operation({
    method: 'delete',
    path: '/v1/sessions/{id}',
    summary: 'Erase it: every event and row of it, at once',
    description:
      'For a request of the person that it is about. Only of one that is settled: 409 otherwise. A continuation has a ' +
      'copy of the conversation, and is erased by its own id. That its webhook was taken stays known.',
    access: 'admin',
    parameters: id,
    answers: { 200: answer('erased', sessionId) },
    errors: [400, 404, 409],
  }),
  operation({
    method: 'get',
    path: '/v1/sessions/{id}/events',
    summary: 'Everything that happened in it',
    access: 'admin',
    parameters: id,
    answers: {
      200: answer('all events', component('EventList', z.object({ items: z.array(event) }))),
    },
    errors: [400, 404],
  }),
  operation({
    method: 'get',
    path: '/v1/sessions/{id}/stream',
    summary: 'The same events, live',
    access: 'admin',
    parameters: id,
    headers: {
      'Last-Event-ID': 'the version of the last event that was seen: the stream goes on right after it',
    },
    answers: {
      200: eventStream,
      204: answer('the session is settled and has no event after Last-Event-ID: do not reconnect'),
    },
    errors: [400, 404],
  }),
  operation({
    method: 'get',
    path: '/v1/sessions/{id}/transcript',
    summary: 'The conversation as the model sees it',
    access: 'admin',
    parameters: id,
    answers: {
      200: answer('all messages', component('Transcript', z.object({ messages: z.array(message) }))),
    },
    errors: [400, 404],
  }),
  operation({
    method: 'post',
    path: '/v1/sessions/{id}/messages',
    summary: 'Answer the open question, or ask for a further turn',
    description:
      'Of an ended session it opens a continuation, whose id is returned. A session that no agent works on ' +
      '(`deliver_only`) answers 409.',
    access: 'admin',
    parameters: id,
    headers: idempotencyKey,
    body: newMessage,
    answers: { 202: answer('taken, by this session', sessionId) },
    errors: [400, 404, 409, 413, 415],
  }),
  operation({
    method: 'post',
    path: '/v1/sessions/{id}/cancel',
    summary: 'End it now, as `cancelled`',
    access: 'admin',
    parameters: id,
    answers: { 202: answer('cancelled', sessionId) },
    errors: [400, 404, 409],
  }),
  operation({
    method: 'post',
    path: '/v1/sessions/{id}/resume',
    summary: 'Go on with an ended session in a continuation',
    description: 'A session that has not ended goes on by itself: 409 says what it waits for.',
    access: 'admin',
    parameters: id,
    headers: idempotencyKey,
    answers: { 202: answer('the continuation', sessionId) },
    errors: [400, 404, 409],
  }),
];
