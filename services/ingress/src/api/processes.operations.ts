import type { ProcessSummary } from '@angelia/session';
import { z } from 'zod';
import { answer, component, operation, pageOf } from './openapi/operation.ts';
import { cursor, limit, wholeId } from './query.ts';
import { processSummarySchema } from './sessions.operations.ts';

export const processesQuery = z.strictObject({ session: wholeId.optional(), limit, cursor });

export type ProcessJson = ProcessSummary & { readonly session_id: string };
const process = component(
  'SessionProcess',
  z.object({ ...processSummarySchema.shape, session_id: z.uuid() }),
);

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
      '501 in this version, for a process that runs: process-watcher takes no kill from the API yet.',
    access: 'admin',
    parameters: { id: 'as in the list' },
    answers: {
      202: answer(
        'it is being killed',
        component('ProcessId', z.object({ id: z.string(), session_id: z.uuid() })),
      ),
    },
    errors: [400, 404, 409, 501],
  }),
];
