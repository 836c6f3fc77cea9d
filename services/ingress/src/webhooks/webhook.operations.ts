import { z } from 'zod';
import { answer, component, operation } from '../http/operation.ts';

const accepted = component(
  'WebhookAccepted',
  z.object({
    status: z.enum(['accepted', 'coalesced']),
    route: z.string(),
    event: z.string().nullable(),
    delivery_id: z.string(),
    session_id: z.uuid(),
  }),
);

const notStarted = component(
  'WebhookNotStarted',
  z.union([
    z.object({ status: z.literal('duplicate'), delivery_id: z.string(), session_id: z.uuid() }),
    z.object({
      status: z.literal('ignored'),
      reason: z.enum(['event', 'filter', 'script']),
      route: z.string(),
    }),
    z
      .record(z.string(), z.unknown())
      .describe("the answer to a provider's handshake, for example Slack's url_verification"),
  ]),
);

export const webhookOperations = [
  operation({
    method: 'post',
    path: '/webhooks/{route}',
    summary: 'Take a webhook; 202 once it is durable',
    description: 'Signed by the scheme of the route: docs/routes.md has an example of each.',
    access: 'signature',
    parameters: { route: 'name of the route' },
    body: null,
    answers: {
      200: answer('taken before, ignored, or a handshake', notStarted),
      202: answer('accepted', accepted),
    },
    errors: [400, 401, 403, 404, 408, 409, 413, 415, 429, 503],
  }),
];
