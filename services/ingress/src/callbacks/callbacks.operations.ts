import { z } from 'zod';
import { answer, component, operation } from '../http/operation.ts';

export const callbackBody = component(
  'AgentCallback',
  z
    .strictObject({
      text: z.string().optional().describe('the answer; empty or `[SILENT]`: kept, and not delivered'),
      error: z
        .string()
        .regex(/\S/, 'say what failed')
        .optional()
        .describe('the work failed: for the operator, the user is told only that it did'),
      status: z
        .string()
        .regex(/\S/, 'say what the agent is doing')
        .optional()
        .describe('an interim status; the link stays open'),
    })
    .refine(
      ({ text, error, status }) => [text, error, status].filter((part) => part !== undefined).length === 1,
      'exactly one of `text`, `error` and `status` is wanted',
    ),
);

const taken = component('CallbackTaken', z.object({ session_id: z.uuid() }));

export const callbackOperations = [
  operation({
    method: 'post',
    path: '/callbacks/{token}',
    summary: 'The answer of an agent of kind http that said 202, or what it is doing meanwhile',
    description:
      'To the `callback_url` that the agent was given, exactly as it was given. A repeat of an answer is taken for the ' +
      'first one. 404: a link that is none of ours; 409: a status while no run is at work; 410: the turn is over.',
    access: 'open',
    parameters: { token: 'signed; part of the `callback_url`' },
    body: callbackBody,
    answers: { 202: answer('taken, once it is durable', taken) },
    errors: [400, 404, 409, 410, 413, 415, 503],
  }),
];
