import { outputAnswerSchema } from '@angelia/contracts';
import type { ProcessSummary } from '@angelia/session';
import { z } from 'zod';
import { answer, component, operation, pageOf } from '../../http/operation.ts';
import { cursor, limit, wholeId } from '../../http/parse-request.ts';
import { processSummarySchema } from '../sessions/sessions.operations.ts';

export const processesQuery = z.strictObject({
  session: wholeId.optional(),
  status: z.enum(['running', 'exited', 'lost']).optional(),
  limit,
  cursor,
});

/** Six times as much (a control character in JSON is `\u001b`) still is one message of NATS. */
const LARGEST_PART = 131_072;
const DEFAULT_PART = 65_536;

export const outputQuery = z.strictObject({
  offset: z
    .string()
    .regex(/^[0-9]{1,15}$/, 'a number of bytes is wanted')
    .transform(Number)
    .optional()
    .describe('from this byte on, as `next_offset` of the part before; the last bytes when left out'),
  bytes: z
    .string()
    .regex(/^[0-9]{1,6}$/, `a number from 1 to ${LARGEST_PART} is wanted`)
    .transform(Number)
    .refine((n) => n >= 1 && n <= LARGEST_PART, `a number from 1 to ${LARGEST_PART} is wanted`)
    .default(DEFAULT_PART)
    .describe(`how many, up to ${LARGEST_PART}; ${DEFAULT_PART} when left out`),
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
      'The whole process group: SIGTERM, then SIGKILL. Its session hears of the end as of any other, if it asked for that.',
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
    summary: 'What a background process printed, as far as it is kept',
    description: 'stdout and stderr together. 503 when the host of the process does not answer.',
    access: 'admin',
    parameters: { id: 'as in the list' },
    query: outputQuery,
    answers: { 200: answer('a part of it', output) },
    errors: [400, 404],
  }),
];
