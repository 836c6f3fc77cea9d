import { imageTypes, MOST_IMAGE_DATA, MOST_IMAGES } from '@angelia/contracts';
import { z } from 'zod';
import { answer, component, operation } from '../../http/operation.ts';
import { sessionIdJson, sessionIdParameter } from '../sessions/session-id.ts';

export const newMessage = component(
  'NewMessage',
  z.strictObject({
    text: z
      .string()
      .regex(/\S/, 'give some text')
      .describe('the answer to the open question, or the next message to the agent'),
    new_turn: z
      .boolean()
      .default(false)
      .describe(
        'this is not the answer to an open question: the question is closed, the turn that asked it is cancelled, ' +
          'and this message runs next',
      ),
    images: z
      .array(
        z.strictObject({
          mime_type: z.enum(imageTypes),
          data: z
            .base64('give the bytes of the image in base64, without line ends')
            .min(1, 'give some bytes'),
        }),
      )
      .max(MOST_IMAGES, `give at most ${MOST_IMAGES} images`)
      .refine((images) => images.reduce((sum, { data }) => sum + data.length, 0) <= MOST_IMAGE_DATA, {
        message: `give at most ${MOST_IMAGE_DATA / 1024 / 1024} MiB of base64 in all`,
      })
      .default([])
      .describe(
        `at most ${MOST_IMAGES}, ${MOST_IMAGE_DATA / 1024 / 1024} MiB of base64 in all, within ` +
          '`limits.max_body_bytes`; models with `images: true` see them during this turn, others read a note',
      ),
  }),
);

/** Header of a POST that starts something. */
const idempotencyKey = {
  'Idempotency-Key': 'a POST that is repeated with the same key is taken once and gets the same answer',
};

export const turnOperations = [
  operation({
    method: 'post',
    path: '/v1/sessions/{id}/messages',
    summary: 'Answer the open question, or ask for another turn',
    description:
      'If the session has ended, this opens a continuation and returns its id. A session without an agent ' +
      '(`deliver_only`) answers 409.',
    access: 'admin',
    parameters: sessionIdParameter,
    headers: idempotencyKey,
    body: newMessage,
    answers: { 202: answer('taken by this session', sessionIdJson) },
    errors: [400, 404, 409, 413, 415],
  }),
  operation({
    method: 'post',
    path: '/v1/sessions/{id}/resume',
    summary: 'Continue an ended session in a continuation',
    description: 'A session that has not ended continues without this call: 409 says what it waits for.',
    access: 'admin',
    parameters: sessionIdParameter,
    headers: idempotencyKey,
    answers: { 202: answer('the continuation', sessionIdJson) },
    errors: [400, 404, 409],
  }),
];
