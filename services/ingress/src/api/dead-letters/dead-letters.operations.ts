import { z } from 'zod';
import { answer, component, operation, pageOf } from '../../http/operation.ts';
import { limit } from '../../http/parse-request.ts';

export const deadLettersQuery = z.strictObject({
  limit,
  cursor: z
    .string()
    .regex(/^[0-9]{1,15}$/, '`next_cursor` of the page before is wanted')
    .transform(Number)
    .optional(),
});

export type DeadLetterJson = z.infer<typeof deadLetter>;
const deadLetter = component(
  'DeadLetter',
  z.object({
    id: z.string(),
    stream_id: z.string().describe('of the session, for most'),
    version: z.number().int().describe('of the event; 0: a hint of the sweep'),
    handler: z.string().describe('which service could not process it, or `projection`'),
    reason: z.string(),
    recorded_at: z.iso.datetime(),
  }),
);

export const deadLetterOperations = [
  operation({
    method: 'get',
    path: '/v1/dead-letters',
    summary: 'Events that could not be processed, the newest first, each with the reason',
    description: 'An outage never makes one, and none blocks what is behind it.',
    access: 'admin',
    query: deadLettersQuery,
    answers: { 200: answer('a page', pageOf('DeadLetterPage', deadLetter)) },
    errors: [400],
  }),
  operation({
    method: 'post',
    path: '/v1/dead-letters/{id}/replay',
    summary: 'Try it again, after what was wrong is mended',
    description: 'It leaves the list; if it fails again it is a new one.',
    access: 'admin',
    parameters: { id: 'as GET /v1/dead-letters gives it' },
    answers: { 202: answer('asked for', component('DeadLetterId', z.object({ id: z.string() }))) },
    errors: [400, 404, 409],
  }),
];
