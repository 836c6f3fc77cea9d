import { z } from 'zod';
import { answer, component, operation, pageFields } from '../../http/operation.ts';
import { cursor, limit, routeName } from '../../http/parse-request.ts';
import { sessionIdJson, sessionIdParameter } from '../sessions/session-id.ts';

const time = z.iso.datetime();
const count = z.number().int().nonnegative();

export const questionsQuery = z.strictObject({
  route: routeName.optional(),
  count: z
    .enum(['true', 'false'])
    .optional()
    .transform((given) => given === 'true')
    .describe('also count the open questions'),
  limit,
  cursor,
});

export type OpenQuestionJson = z.infer<typeof openQuestion>;
const openQuestion = component(
  'OpenQuestion',
  z.object({
    session_id: z.uuid(),
    clarification_id: z.string().describe('names the question within its session'),
    title: z.string().describe('of the session'),
    route: z.string(),
    agent: z.string(),
    turn: z.number().int().positive(),
    question: z.string(),
    choices: z
      .array(z.string())
      .describe('empty: any text is an answer. Otherwise any other text is an answer too'),
    asked_at: time,
    deadline: time,
    on_timeout: z.enum(['end', 'continue']).describe('what the session does if nobody answers in time'),
  }),
);

const questionPage = component(
  'OpenQuestionPage',
  pageFields(openQuestion).extend({
    count: count.optional().describe('only with `count=true`'),
    count_exact: z.boolean().optional().describe('false: at least `count`'),
  }),
);

export const newAnswer = component(
  'NewAnswer',
  z.strictObject({
    clarification_id: z
      .string()
      .min(1)
      .max(200)
      .describe(
        'the question that is meant, as in GET /v1/questions: a later question is not answered by mistake',
      ),
    answer: z
      .string({ error: 'give an answer' })
      .regex(/\S/, 'give an answer')
      .describe('one of the choices, or any other text'),
  }),
);

export type ClosedQuestionJson = z.infer<typeof closedQuestion>;
const closedQuestion = component(
  'ClosedQuestion',
  z.object({
    error: z.string(),
    reason: z.enum(['answered', 'timed_out', 'superseded', 'ended']),
    answered: z
      .object({
        by: z.string().describe('the actor: `api`, `link`, or whoever is signed in to the console'),
        at: time,
        answer: z.string(),
      })
      .nullable()
      .describe('if somebody answered'),
  }),
);

export const questionOperations = [
  operation({
    method: 'get',
    path: '/v1/questions',
    summary: 'Open questions of all sessions, the oldest first; a moment behind the log',
    access: 'admin',
    query: questionsQuery,
    answers: { 200: answer('a page', questionPage) },
    errors: [400],
  }),
  operation({
    method: 'post',
    path: '/v1/sessions/{id}/answers',
    summary: 'Answer an open question of a session',
    description:
      'A question is answered once. 404: the session never asked this question. 409: it is closed, and the answer says ' +
      'by whom or why.',
    access: 'admin',
    parameters: sessionIdParameter,
    headers: { 'Idempotency-Key': 'a repeat with the same key is taken once and gets the same answer' },
    body: newAnswer,
    answers: {
      202: answer('the session continues with the answer', sessionIdJson),
      409: answer('the question is closed', closedQuestion),
    },
    errors: [400, 404],
  }),
];
