import { z } from 'zod';
import { answer, component, operation, pageOf } from '../../http/operation.ts';
import { cursor, limit, moment, routeName } from '../../http/parse-request.ts';
import { sessionIdFilter } from '../sessions/session-id.ts';

export const targetName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'give the name of a target');

export const deliveriesQuery = z.strictObject({
  status: z.enum(['pending', 'delivered', 'dead', 'dropped']).optional(),
  session: sessionIdFilter.optional(),
  target: targetName.optional(),
  route: routeName.optional(),
  since: moment
    .optional()
    .describe('changed at this time or later: ISO 8601, or how long ago: `15m`, `2h`, `7d`'),
  until: moment.optional().describe('changed before this time'),
  limit,
  cursor,
});

/** Per call: everything that one call retries is sent at once. */
const MOST_RETRIES = 1_000;

export const retryFilter = component(
  'DeliveryRetryFilter',
  z.strictObject({
    status: z.literal('dead').describe('required: only dead deliveries can be retried'),
    target: targetName.optional(),
    route: routeName.optional(),
    session: sessionIdFilter.optional(),
    limit: z.number().int().min(1).max(MOST_RETRIES).default(100),
  }),
);

export type RetriedJson = z.infer<typeof retried>;
const retried = component(
  'RetriedDeliveries',
  z.object({
    retried: z.array(z.string()).describe('ids of the deliveries that are pending again'),
    refused: z
      .array(z.object({ id: z.string(), reason: z.string() }))
      .describe('deliveries that cannot be sent any more'),
    more: z.boolean().describe('true: `limit` left some out; call again'),
  }),
);

const time = z.iso.datetime();

export type DeliveryJson = z.infer<typeof delivery>;
export const delivery = component(
  'Delivery',
  z.object({
    id: z.string().describe('`<session id>.<version of the output>`'),
    session_id: z.uuid(),
    output: z.number().int().describe('version of the output in its session'),
    kind: z.enum(['interim-status', 'clarification', 'approval', 'final-response']),
    turn: z.number().int(),
    target: z.string(),
    via: z.enum(['target', 'fallback_target']),
    status: z.enum(['pending', 'delivered', 'dead', 'dropped']),
    attempts: z.number().int(),
    next_attempt_at: time
      .nullable()
      .describe('while pending: when it is due, or when the attempt in flight becomes unknown'),
    reason: z.string().nullable().describe('why the last attempt failed, or why the delivery was dropped'),
    receipt: z.string().nullable().describe('the id that the platform gave the message'),
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
    description: 'A pending delivery is retried without this call and stays unchanged.',
    access: 'admin',
    parameters: { id: '`<session id>.<version of the output>`' },
    answers: {
      202: answer(
        'it is pending',
        component('DeliveryId', z.object({ id: z.string(), session_id: z.uuid() })),
      ),
    },
    errors: [400, 404, 409],
  }),
  operation({
    method: 'post',
    path: '/v1/deliveries/retry',
    summary: 'Send many dead deliveries again',
    description:
      'A delivery must match all filters; the last changed go first. The list of dead deliveries is a moment behind the log.',
    access: 'admin',
    body: retryFilter,
    answers: { 202: answer('the deliveries that are pending again', retried) },
    errors: [400],
  }),
];
