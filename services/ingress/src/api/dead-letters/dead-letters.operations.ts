import { z } from 'zod';
import { answer, component, operation, pageOf } from '../../http/operation.ts';
import { limit } from '../../http/parse-request.ts';

export const deadLettersQuery = z.strictObject({
  limit,
  cursor: z
    .string()
    .regex(/^[0-9]{1,15}$/, 'give `next_cursor` of the previous page')
    .transform(Number)
    .optional(),
});

export type DeadLetterJson = z.infer<typeof deadLetter>;
export const deadLetter = component(
  'DeadLetter',
  z.object({
    id: z.string(),
    stream_id: z.string().describe('usually a session'),
    version: z.number().int().describe('of the event; 0 for a hint of the sweep'),
    handler: z.string().describe('the service that could not process it, or `projection`'),
    reason: z.string(),
    recorded_at: z.iso.datetime(),
  }),
);

export const deadLetterOperations = [
  operation({
    method: 'get',
    path: '/v1/dead-letters',
    summary: 'Events that could not be processed, the newest first, each with the reason',
    description: 'An outage never creates a dead letter, and a dead letter never blocks later events.',
    access: 'admin',
    query: deadLettersQuery,
    answers: { 200: answer('a page', pageOf('DeadLetterPage', deadLetter)) },
    errors: [400],
  }),
  operation({
    method: 'post',
    path: '/v1/dead-letters/{id}/replay',
    summary: 'Process a dead letter again, after the cause is fixed',
    description: 'It leaves the list. If it fails again, it becomes a new dead letter.',
    access: 'admin',
    parameters: { id: 'as in GET /v1/dead-letters' },
    answers: {
      202: answer('the replay is requested', component('DeadLetterId', z.object({ id: z.string() }))),
    },
    errors: [400, 404, 409],
  }),
];
