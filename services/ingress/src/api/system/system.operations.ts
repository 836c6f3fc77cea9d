import { z } from 'zod';
import { answer, component, operation } from '../../http/operation.ts';

const time = z.iso.datetime();
const count = z.number().int().nonnegative();
const milliseconds = z.number().int().nonnegative();

export type SystemJson = z.infer<typeof system>;
const system = component(
  'System',
  z.object({
    at: time.describe('when it was read; at most some seconds ago'),
    version: z.string().describe('of the ingress that answers'),
    services: z
      .array(
        z.object({
          service: z.string().describe('`ingress`, `agent-runner`, `delivery` or `process-watcher`'),
          instance: z.string().describe('the stable name of the replica'),
          version: z.string(),
          status: z
            .enum(['alive', 'lost'])
            .describe('`lost`: it did not say that it stops, and was not seen for a while'),
          seen_at: time,
          leads: z.array(z.string()).describe('the loops that it leads for all'),
        }),
      )
      .describe(
        'every replica that was seen in the last hour, by name; one that stopped in order is left out',
      ),
    leaders: z.array(
      z.object({ name: z.string().describe('a loop that one process leads for all'), instance: z.string() }),
    ),
    lag: z
      .object({
        tail_ms: milliseconds.describe('age of the oldest event that an open transaction hides'),
        relay_ms: milliseconds.describe('age of the oldest event that was not hinted yet'),
        views_ms: milliseconds.describe('age of the oldest event that lists do not show yet'),
      })
      .describe('how far the readers of the log are behind'),
    migrations: z.object({
      applied: count.describe('number of the last one'),
      needed: count.describe('by the ingress that answers'),
    }),
    views: z.object({
      version: count,
      needed: count.describe('if it is higher, the views are being rebuilt'),
    }),
    config: z
      .object({
        file: z.string(),
        in_force: z
          .enum(['file', 'last_good'])
          .describe('`last_good`: the file is wrong, and the config before it stays in force'),
        problems: z.array(z.string()).describe('what is wrong with the file'),
        restart_needed: z.array(z.string()).describe('changed keys that need a restart of this ingress'),
        values: z.record(z.string(), z.unknown()).describe('with defaults; secrets are `[redacted]`'),
      })
      .describe('of the ingress that answers'),
    models_down: z
      .array(
        z.object({
          model: z.string(),
          code: z.string().describe('of the failure'),
          reason: z.enum(['unavailable', 'configuration']),
          sessions: count.describe('how many wait for it'),
          list: z.string().describe('the call that lists them'),
        }),
      )
      .describe('models that sessions wait for right now'),
    targets_down: z
      .array(
        z.object({
          target: z.string(),
          deliveries: count.describe('how many were tried and will be tried again'),
          exact: z.boolean().describe('false: at least `deliveries`'),
          reason: z.string().nullable().describe('why the latest attempt failed'),
          next_attempt_at: time.nullable(),
          list: z.string().describe('the call that lists them'),
        }),
      )
      .describe('targets that the last attempt of some pending delivery failed at'),
    jaeger_url: z
      .string()
      .nullable()
      .describe('`jaeger_url` of the config: a trace is at `/trace/{trace_id}`'),
  }),
);

export type DoctorJson = z.infer<typeof doctor>;
const doctor = component(
  'Doctor',
  z.object({
    checked_at: time,
    healthy: z.boolean().describe('no finding is a fault'),
    findings: z.array(
      z.object({
        check: z.string().describe('stable: `postgres.fsync`, `target.telegram`'),
        state: z.enum(['ok', 'warning', 'fault', 'skipped']),
        what: z.string(),
        todo: z.string().optional().describe('what to do; warnings and faults have it'),
      }),
    ),
  }),
);

export const doctorQuery = z.strictObject({
  calls: z
    .enum(['true', 'false'])
    .optional()
    .transform((given) => given === 'true')
    .describe('also call targets, models and MCP servers; needs an ingress that may reach them'),
});

export const systemOperations = [
  operation({
    method: 'get',
    path: '/v1/system',
    summary: 'The services, how far they are behind, the config in force, and what is down',
    description:
      'One answer serves all callers for some seconds. Its cost does not depend on the length of the log.',
    access: 'admin',
    answers: { 200: answer('the system', system) },
  }),
  operation({
    method: 'get',
    path: '/v1/doctor',
    summary: 'Check everything that Angelia depends on, as `angelia doctor` does',
    description:
      'The checks run where ingress runs. They change nothing and send no message to anybody. One run serves all callers ' +
      'for 10 seconds.',
    access: 'admin',
    query: doctorQuery,
    answers: { 200: answer('the findings', doctor) },
    errors: [400],
  }),
];
