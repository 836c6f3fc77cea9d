import { z } from 'zod';
import { answer, component, operation } from '../http/operation.ts';

export const callbackBody = component(
  'AgentCallback',
  z
    .strictObject({
      text: z
        .string()
        .optional()
        .describe('the answer; an empty one or `[SILENT]` is kept but not delivered'),
      error: z
        .string()
        .regex(/\S/, 'say what failed')
        .optional()
        .describe('why the work failed; for the operator: the user is told only that it failed'),
      status: z
        .string()
        .regex(/\S/, 'say what the agent is doing')
        .optional()
        .describe('an interim status; the link stays open'),
    })
    .refine(
      ({ text, error, status }) => [text, error, status].filter((part) => part !== undefined).length === 1,
      'give exactly one of `text`, `error` and `status`',
    ),
);

const taken = component('CallbackTaken', z.object({ session_id: z.uuid() }));

export const callbackOperations = [
  operation({
    method: 'post',
    path: '/callbacks/{token}',
    summary: 'The answer of an agent of kind http that replied 202, or an interim status',
    description:
      'Goes to the `callback_url` exactly as the agent got it. A repeated answer counts as the first one. 404: the link is ' +
      'not one of ours; 409: a status while no run is working; 410: the turn is over.',
    access: 'open',
    parameters: { token: 'signed; part of the `callback_url`' },
    body: callbackBody,
    answers: { 202: answer('taken and durable', taken) },
    errors: [400, 404, 409, 410, 413, 415, 503],
  }),
];
