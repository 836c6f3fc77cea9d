import { z } from 'zod';
import { answer, component, operation, pageOf } from './openapi/operation.ts';
import { cursor, limit, wholeId } from './query.ts';

export const deliveriesQuery = z.strictObject({
  status: z.enum(['pending', 'delivered', 'dead', 'dropped']).optional(),
  session: wholeId.optional(),
  limit,
  cursor,
});

const time = z.iso.datetime();

export type DeliveryJson = z.infer<typeof delivery>;
const delivery = component(
  'Delivery',
  z.object({
    id: z.string().describe('`<session id>.<version of the output>`'),
    session_id: z.uuid(),
    output: z.number().int().describe('version of the output in its session'),
    kind: z.enum(['interim-status', 'clarification', 'final-response']),
    turn: z.number().int(),
    target: z.string(),
    via: z.enum(['target', 'fallback_target']),
    status: z.enum(['pending', 'delivered', 'dead', 'dropped']),
    attempts: z.number().int(),
    next_attempt_at: time
      .nullable()
      .describe('while pending: when it is due, or when the attempt under way becomes unknown'),
    reason: z.string().nullable().describe('why the last attempt failed, or why it was dropped'),
    receipt: z.string().nullable().describe('what the platform called the message'),
    possible_duplicate: z.boolean(),
    created_at: time,
    updated_at: time,
  }),
);

export const deliveryOperations = [
  operation({
    method: 'get',
    path: '/v1/deliveries',
    summary: 'Deliveries, the last changed first; a moment behind the log',
    access: 'admin',
    query: deliveriesQuery,
    answers: { 200: answer('a page', pageOf('DeliveryPage', delivery)) },
    errors: [400],
  }),
  operation({
    method: 'post',
    path: '/v1/deliveries/{id}/retry',
    summary: 'Send a dead delivery again',
    description: 'One that is pending is tried again by itself, and stays as it is.',
    access: 'admin',
    parameters: { id: '`<session id>.<version of the output>`' },
    answers: {
      202: answer(
        'it is, or becomes, pending',
        component('DeliveryId', z.object({ id: z.string(), session_id: z.uuid() })),
      ),
    },
    errors: [400, 404, 409],
  }),
];
