import { z } from 'zod';
import { answer, component, operation } from '../http/operation.ts';

export const givenAnswer = component(
  'Answer',
  z.preprocess(
    // As in a message to a session: whoever knows the one need not look up the other.
    (body) => (isTextOnly(body) ? { answer: body.text } : body),
    z.strictObject({
      answer: z
        .string({ error: 'an answer is wanted' })
        .regex(/\S/, 'an answer is wanted')
        .describe('one of the choices, or any text of your own; `text` is taken for it'),
    }),
  ),
);

function isTextOnly(body: unknown): body is { text: unknown } {
  return typeof body === 'object' && body !== null && 'text' in body && !('answer' in body);
}

const question = component(
  'Question',
  z.object({
    question: z.string(),
    choices: z.array(z.string()).describe('empty: any text is an answer'),
    deadline: z.iso.datetime(),
  }),
);

const taken = component('AnswerTaken', z.object({ session_id: z.uuid() }));

const parameters = { token: 'signed; as it was delivered with the question' };
const description =
  'The link is single-use, and open as long as its question is: 404 is a link that is none of ours, 410 one whose ' +
  'question was answered, or superseded by another message, or is over. A page for people unless JSON is asked for.';

export const answerOperations = [
  operation({
    method: 'get',
    path: '/answers/{token}',
    summary: "A question of a session's agent, as a page to answer it",
    description,
    access: 'open',
    parameters,
    answers: { 200: answer('the question is open', question) },
    errors: [404, 410, 503],
    pages: true,
  }),
  operation({
    method: 'post',
    path: '/answers/{token}',
    summary: 'Answer the question; the run goes on',
    description,
    access: 'open',
    parameters,
    body: givenAnswer,
    formBody: true,
    answers: { 202: answer('taken, once it is durable', taken) },
    errors: [400, 404, 410, 413, 415, 503],
    pages: true,
  }),
];
