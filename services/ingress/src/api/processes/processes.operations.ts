import { outputAnswerSchema } from '@angelia/contracts';
import type { ProcessSummary } from '@angelia/session';
import { z } from 'zod';
import { answer, component, operation, pageOf } from '../../http/operation.ts';
import { cursor, limit, wholeNumber } from '../../http/parse-request.ts';
import { sessionIdFilter } from '../sessions/session-id.ts';
import { processSummarySchema } from '../sessions/sessions.operations.ts';

export const processesQuery = z.strictObject({
  session: sessionIdFilter.optional(),
  id: z
    .string()
    .regex(/^[a-z0-9_]{1,64}$/, 'give the beginning of an id')
    .optional()
    .describe('the beginning of an id'),
  status: z.enum(['running', 'exited', 'lost']).optional(),
  limit,
  cursor,
});

/** JSON may make it six times as long (a control character becomes `\u001b`); that still fits in one NATS message. */
const LARGEST_PART = 131_072;
const DEFAULT_PART = 65_536;

export const outputQuery = z.strictObject({
  offset: wholeNumber({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
    .optional()
    .describe('start at this byte: `next_offset` of the previous part; the last bytes if left out'),
  bytes: wholeNumber({ minimum: 1, maximum: LARGEST_PART })
    .default(DEFAULT_PART)
    .describe(`how many, up to ${LARGEST_PART}; ${DEFAULT_PART} if left out`),
});

export type ProcessJson = ProcessSummary & { readonly session_id: string };
const process = component(
  'SessionProcess',
  z.object({ ...processSummarySchema.shape, session_id: z.uuid() }),
);

const output = component(
  'ProcessOutput',
  z.object({ id: z.string(), session_id: z.uuid(), status: z.string(), ...outputAnswerSchema.shape }),
);
export type ProcessOutput = z.infer<typeof output>;

export const processOperations = [
  operation({
    method: 'get',
    path: '/v1/processes',
    summary: 'Background processes, the last changed first; a moment behind the log',
    access: 'admin',
    query: processesQuery,
    answers: { 200: answer('a page', pageOf('ProcessPage', process)) },
    errors: [400],
  }),
  operation({
    method: 'post',
    path: '/v1/processes/{id}/kill',
    summary: 'End a background process',
    description:
      'Ends the whole process group: SIGTERM, then SIGKILL. If the session asked to be notified, it learns of this end too.',
    access: 'admin',
    parameters: { id: 'as in the list' },
    answers: {
      202: answer(
        'it is being killed',
        component('ProcessId', z.object({ id: z.string(), session_id: z.uuid() })),
      ),
    },
    errors: [400, 404, 409],
  }),
  operation({
    method: 'get',
    path: '/v1/processes/{id}/output',
    summary: 'The output of a background process, as far as it is kept',
    description: 'stdout and stderr together. 503 if the host of the process does not answer.',
    access: 'admin',
    parameters: { id: 'as in the list' },
    query: outputQuery,
    answers: { 200: answer('a part of it', output) },
    errors: [400, 404],
  }),
];
