import { z } from 'zod';
import { answer, component, operation } from '../../http/operation.ts';

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
      .describe("the answer to a provider's handshake, e.g. Slack's url_verification"),
  ]),
);

const health = component(
  'Health',
  z.object({
    status: z.string(),
    checks: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('what readiness depends on, and the reason where one of them is not fine'),
  }),
);

export const publicOperations = [
  operation({
    method: 'post',
    path: '/webhooks/{route}',
    summary: 'Take a webhook; 202 once it is durable',
    description: 'Signed as the route says: docs/routes.md has every scheme with an example.',
    access: 'signature',
    parameters: { route: 'name of the route' },
    body: null,
    answers: {
      200: answer('taken before, ignored, or a handshake', notStarted),
      202: answer('accepted', accepted),
    },
    errors: [400, 401, 403, 404, 408, 409, 413, 415, 429, 503],
  }),
  ...(['/healthz', '/health'] as const).map((path) =>
    operation({
      method: 'get',
      path,
      summary: path === '/health' ? 'The same as /healthz' : 'Is the process alive?',
      access: 'open',
      answers: { 200: answer('alive', health) },
    }),
  ),
  operation({
    method: 'get',
    path: '/readyz',
    summary: 'Can webhooks be accepted durably?',
    access: 'open',
    answers: { 200: answer('ready', health), 503: answer('not ready, with the reason', health) },
  }),
  operation({
    method: 'get',
    path: '/openapi.json',
    summary: 'This document',
    access: 'open',
    answers: {
      200: answer('OpenAPI 3.1', component('OpenApiDocument', z.record(z.string(), z.unknown()))),
    },
  }),
];
