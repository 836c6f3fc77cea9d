import { z } from 'zod';
import { answer, component, operation } from '../../http/operation.ts';

export type ReloadedJson = z.infer<typeof reloaded>;
const reloaded = component(
  'ReloadedConfig',
  z.object({
    status: z
      .enum(['taken', 'unchanged'])
      .describe('`unchanged`: the file is the one that is in force already'),
    file: z.string(),
    restart_needed: z
      .array(
        z.object({
          key: z.string().describe('a changed key that a running service cannot change'),
          services: z.array(z.string()).describe('the services to restart'),
        }),
      )
      .describe('empty: the whole file is in force'),
  }),
);

export type RefusedConfigJson = z.infer<typeof refused>;
const refused = component(
  'RefusedConfig',
  z.object({
    error: z.string(),
    file: z.string(),
    errors: z.array(
      z.object({
        path: z.string().describe('the key, such as `agents.default.kind`; empty for the whole file'),
        line: z.number().int().nullable().describe('from 1; null if there is no place in the file'),
        column: z.number().int().nullable(),
        message: z.string(),
      }),
    ),
  }),
);

export const configOperations = [
  operation({
    method: 'post',
    path: '/v1/config/reload',
    summary: 'Read the config file again, and take it if it is good',
    description:
      'It answers for the ingress that gets the call, and asks every other service to read its own file. Runs and ' +
      'webhooks that have begun keep the config that they began with. A wrong file changes nothing. Services also read ' +
      'the file by themselves when it changes, and on SIGHUP.',
    access: 'admin',
    answers: {
      200: answer('The file is in force', reloaded),
      422: answer('The file is wrong, and the last good config stays in force', refused),
    },
  }),
];
