import { z } from 'zod';
import { answer, component, operation } from '../../http/operation.ts';

const health = component(
  'Health',
  z.object({
    status: z.string(),
    checks: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('what readiness depends on, with the reason if a check fails'),
  }),
);

export const publicOperations = [
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
