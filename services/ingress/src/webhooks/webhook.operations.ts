import { z } from 'zod';
import { answer, component, operation } from '../http/operation.ts';

const batch = component(
  'WebhookBatch',
  z.object({
    status: z.literal('batch'),
    route: z.string(),
    items: z
      .array(z.record(z.string(), z.unknown()))
      .describe('for each event of a batch of CloudEvents, in order: what it would get alone, or `refused`'),
  }),
);

const accepted = component(
  'WebhookAccepted',
  z.union([
    z.object({
      status: z.enum(['accepted', 'coalesced']),
      route: z.string(),
      event: z.string().nullable(),
      delivery_id: z.string(),
      session_id: z.uuid(),
    }),
    batch,
  ]),
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
    batch,
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
      204: answer("a handshake without an answer, for example Discord's PING of webhook events"),
    },
    errors: [400, 401, 403, 404, 408, 409, 413, 415, 429, 503],
  }),
  operation({
    method: 'options',
    path: '/webhooks/{route}',
    summary: 'Ask whether CloudEvents may be sent here, as Azure Event Grid does',
    access: 'open',
    parameters: { route: 'name of the route' },
    headers: {
      'WebHook-Request-Origin': 'the host name of the sender',
      'WebHook-Request-Rate': 'how many requests a minute it wants to send',
    },
    answers: { 200: answer('yes: see Allow, WebHook-Allowed-Origin and WebHook-Allowed-Rate') },
    errors: [400, 403, 404, 408, 413, 503],
  }),
];
