import { unstartedOutcomes } from '@angelia/contracts';
import { z } from 'zod';
import { answer, component, operation } from '../../http/operation.ts';
import { limit, moment, routeName } from '../../http/parse-request.ts';

const filter = {
  route: routeName
    .optional()
    .describe('webhooks of this route; webhooks of no route have outcome `unknown_route`'),
  outcome: z.enum(unstartedOutcomes).optional(),
};

export const unstartedQuery = z.strictObject({
  ...filter,
  refused: z
    .literal('true')
    .optional()
    .transform((given) => given === 'true')
    .describe('only those that were refused: neither ignored, nor a duplicate, nor a handshake'),
  since: moment
    .optional()
    .describe('received at this time or later: ISO 8601, or how long ago: `15m`, `2h`, `7d`'),
  limit,
});
export const unstartedCountsQuery = z.strictObject(filter);

const time = z.iso.datetime();
const kind = {
  route: z.string().nullable().describe('null: the URL named no route'),
  outcome: z.enum(unstartedOutcomes),
  reason: z
    .string()
    .describe(
      'a stable code: `event`, `filter` or `script` for an ignored webhook, else the rule that refused it',
    ),
};

export type UnstartedJson = z.infer<typeof unstarted>;
const unstarted = component(
  'UnstartedWebhook',
  z.object({
    received_at: time,
    ...kind,
    status: z.number().int().describe('of the HTTP answer'),
    event: z.string().nullable(),
    delivery_id: z.string().nullable(),
    session_id: z.uuid().nullable().describe('for a duplicate: the session that the first delivery started'),
    requested_route: z.string().nullable().describe('the name in the URL, if there is no such route'),
    detail: z
      .string()
      .nullable()
      .describe(
        'why exactly: the header that is missing, how far the timestamp is off, the filter with the value that it saw',
      ),
    source: z.string().nullable().describe('the address of the sender'),
  }),
);

export type UnstartedCountJson = z.infer<typeof unstartedCount>;
const unstartedCount = component(
  'UnstartedWebhookCount',
  z.object({ ...kind, count: z.number().int(), first_at: time, last_at: time }),
);

export const unstartedOperations = [
  operation({
    method: 'get',
    path: '/v1/webhooks',
    summary: 'Webhooks that started no session, the newest first, each with the reason',
    description:
      'Answers "why did nothing happen?". The last 50 of each route, outcome and reason are kept for at most 7 days; of a ' +
      'flood a few per second are kept. Webhooks that other replicas answered may be a second late. The list does not ' +
      'survive a crash of Postgres: it is for diagnosis, not history.',
    access: 'admin',
    query: unstartedQuery,
    answers: {
      200: answer(
        'the webhooks that are kept',
        component('UnstartedWebhooks', z.object({ items: z.array(unstarted) })),
      ),
    },
    errors: [400],
  }),
  operation({
    method: 'get',
    path: '/v1/webhooks/counts',
    summary: 'How many webhooks started no session, by route, outcome and reason',
    description:
      'For all replicas together, since `first_at`; also exported as the metric `angelia_webhooks_total`. A kind that ' +
      'did not occur for 7 days is forgotten.',
    access: 'admin',
    query: unstartedCountsQuery,
    answers: {
      200: answer(
        'the latest first',
        component('UnstartedWebhookCounts', z.object({ items: z.array(unstartedCount) })),
      ),
    },
    errors: [400],
  }),
];
