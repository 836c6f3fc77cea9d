import { z } from 'zod';
import { answer, component, operation } from '../../http/operation.ts';

const time = z.iso.datetime();
const count = z.number().int().nonnegative();

export type FigureJson = z.infer<typeof figure>;
const figure = component(
  'Figure',
  z.object({
    count,
    exact: z.boolean().describe('false: at least `count`'),
    list: z.string().describe('the call that lists what was counted, such as `/v1/sessions?status=running`'),
  }),
);

export type LatencyJson = z.infer<typeof latency>;
const latency = component(
  'Latency',
  z.object({
    p50_ms: z.number().int().nonnegative(),
    p95_ms: z.number().int().nonnegative(),
  }),
);

export type MinuteJson = z.infer<typeof minute>;
const minute = component(
  'OverviewMinute',
  z.object({
    minute: time.describe('when it began'),
    created: count.describe('sessions'),
    ended: z
      .object({ succeeded: count, failed: count, cancelled: count, expired: count })
      .describe('sessions that ended and are settled, by outcome'),
    delivered: count.describe('outputs of any kind'),
    first_status: latency
      .nullable()
      .describe(
        'from the webhook to the first output of the session, for outputs delivered in this minute; null: none',
      ),
    answered: latency
      .nullable()
      .describe(
        'from the webhook to the delivered answer of its first turn, for those delivered in this minute',
      ),
  }),
);

export type OverviewJson = z.infer<typeof overview>;
const overview = component(
  'Overview',
  z.object({
    at: time.describe('when it was computed; at most some seconds ago'),
    sessions: z
      .object({
        queued: figure,
        running: figure,
        waiting: figure.describe('for anything'),
        waiting_for: z.object({ person: figure, approval: figure, model: figure, process: figure }),
      })
      .describe('sessions that have not ended'),
    last_hour: z.object({
      failed: figure.describe('sessions that ended as `failed`'),
      expired: figure.describe('sessions that ended as `expired`'),
      dead_deliveries: figure,
      refused_webhooks: figure.describe('of a flood only a few per second are known'),
    }),
    dead_letters: figure,
    minutes: z.array(minute).describe('the last 60, the oldest first; the last one is not over yet'),
    minutes_exact: z
      .boolean()
      .describe('false: so much happened that the older minutes were not counted in full'),
  }),
);

export const overviewOperations = [
  operation({
    method: 'get',
    path: '/v1/overview',
    summary: 'What goes on now, and the last hour minute by minute',
    description:
      'Made for a page that many people keep open: one answer serves all callers for some seconds, and its cost depends ' +
      'neither on the length of the log nor on the number of callers. It comes from the views, a moment behind the log.',
    access: 'admin',
    answers: { 200: answer('the figures', overview) },
  }),
];
