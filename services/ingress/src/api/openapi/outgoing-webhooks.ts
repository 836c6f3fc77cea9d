import { httpTargetBody } from '@angelia/contracts';
import { component } from '../../http/operation.ts';

const header = (name: string, description: string, required = true) => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string' },
});

/** The requests that Angelia makes to services of the user: `webhooks` of the OpenAPI document. */
export const outgoingWebhooks = {
  output: {
    operationId: 'receiveOutput',
    summary: 'What the target `http` posts to `deliver_extra.url`, once per output',
    description:
      'Signed by Standard Webhooks (standardwebhooks.com) if `targets.http.secret` is set; docs/targets.md shows how to ' +
      'verify it in TypeScript, Python and Go. A retry has the same `webhook-id`.',
    parameters: [
      header('user-agent', '`angelia`, unless `targets.http.headers` or the route sets another'),
      header('webhook-id', 'the same on every attempt; names the output'),
      header('webhook-timestamp', 'Unix seconds of this attempt'),
      header(
        'webhook-signature',
        '`v1,<base64>`, one or two, separated by a space; only with a secret',
        false,
      ),
    ],
    body: component('HttpTargetBody', httpTargetBody),
    responses: {
      '2XX': { description: 'taken' },
      '4XX': {
        description: 'refused: the delivery is dead, except 408, 409, 425 and 429, which are tried again',
      },
      '5XX': { description: 'tried again, by `delivery.retry_schedule_seconds` or `Retry-After`' },
    },
    security: [],
  },
} as const;
