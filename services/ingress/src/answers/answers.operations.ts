import { z } from 'zod';
import { answer, component, operation } from '../http/operation.ts';

export const givenAnswer = component(
  'Answer',
  z.preprocess(
    // `text` works too, as in a message to a session, so that clients need to know only one of them.
    (body) => (isTextOnly(body) ? { answer: body.text } : withoutOther(body)),
    z.strictObject({
      answer: z
        .string({ error: 'give an answer' })
        .regex(/\S/, 'give an answer')
        .describe('one of the choices, or any other text; `text` is accepted instead of `answer`'),
    }),
  ),
);

function isTextOnly(body: unknown): body is { text: unknown } {
  return typeof body === 'object' && body !== null && 'text' in body && !('answer' in body);
}

/** The form of the page has a field for another answer beside its choices. The text in that field takes precedence. */
function withoutOther(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('other' in body)) return body;
  const { other, ...rest } = body;
  return typeof other === 'string' && /\S/.test(other) ? { ...rest, answer: other } : rest;
}

const question = component(
  'Question',
  z.object({
    question: z.string(),
    choices: z
      .array(z.string())
      .describe('empty: any text is an answer. Otherwise any other text is an answer too'),
    deadline: z.iso.datetime(),
    session_id: z.uuid(),
    title: z.string().describe('of the session'),
    route: z.string(),
    agent: z.string().describe('who asks'),
  }),
);

const taken = component('AnswerTaken', z.object({ session_id: z.uuid() }));

const parameters = { token: 'signed; as it was delivered with the question' };
const description =
  'The link works once, as long as its question is open. 404: the link is not one of ours. 410: the question was ' +
  'answered, was superseded by another message, or is over. The answer is a page unless the client asks for JSON.';

export const answerOperations = [
  operation({
    method: 'get',
    path: '/answers/{token}',
    summary: "A question of a session's agent, on a page where it can be answered",
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
    summary: 'Answer the question; the run continues',
    description,
    access: 'open',
    parameters,
    body: givenAnswer,
    formBody: true,
    answers: { 202: answer('taken and durable', taken) },
    errors: [400, 404, 410, 413, 415, 503],
    pages: true,
  }),
];
