import type { Figure, Overview, System } from '../api/types.ts';
import { defineCommand } from '../command-line/command.ts';
import { toneOf } from '../terminal/style.ts';
import { type Column, fields, table } from '../terminal/table.ts';
import { agoText } from '../terminal/time.ts';

export const overview = defineCommand({
  name: 'overview',
  summary: 'show what goes on now, and what went wrong in the last hour',
  description:
    'With --json it also has the last 60 minutes one by one, and for each figure the call that lists it.',
  examples: [{ command: 'angelia overview', does: 'how many sessions run, wait and fail' }],
  calls: ['get /v1/overview'],
  run: async ({ api, out }) => {
    const found = await api().get<Overview>('/v1/overview');
    const { sessions, last_hour: hour } = found;
    out.answer(found, () =>
      fields(
        [
          ['queued', countText(sessions.queued)],
          ['running', countText(sessions.running)],
          ['wait for a person', countText(sessions.waiting_for.person)],
          ['wait for an approval', countText(sessions.waiting_for.approval)],
          ['wait for a model', countText(sessions.waiting_for.model)],
          ['wait for a process', countText(sessions.waiting_for.process)],
          ['failed (1 h)', countText(hour.failed)],
          ['expired (1 h)', countText(hour.expired)],
          ['dead deliveries (1 h)', countText(hour.dead_deliveries)],
          ['refused webhooks (1 h)', countText(hour.refused_webhooks)],
          ['dead letters', countText(found.dead_letters)],
        ],
        out.style,
      ),
    );
    return undefined;
  },
});

export const system = defineCommand({
  name: 'system',
  summary: 'show the services, how far they are behind, and what is down',
  description: 'With --json it also has the config in force, without its secrets.',
  examples: [{ command: 'angelia system', does: 'every replica with its version' }],
  calls: ['get /v1/system'],
  run: async ({ api, out, runtime }) => {
    const found = await api().get<System>('/v1/system');
    const columns: Column<System['services'][number]>[] = [
      { head: 'INSTANCE', text: ({ instance }) => instance },
      { head: 'SERVICE', text: ({ service }) => service, dropped: 2 },
      { head: 'VERSION', text: ({ version }) => version },
      {
        head: 'STATUS',
        text: ({ status }) => status,
        tone: ({ status }) => (status === 'lost' ? 'bad' : toneOf(status)),
      },
      { head: 'SEEN', text: ({ seen_at: at }) => agoText(at, runtime.now()), dropped: 3 },
      { head: 'LEADS', text: ({ leads }) => leads.join(', ') || '-', flexible: true, dropped: 1 },
    ];
    const { lag, models_down: models, targets_down: targets, config } = found;
    out.answer(found, () =>
      [
        table(found.services, columns, out),
        '',
        fields(
          [
            ['lag', `tail ${lag.tail_ms} ms, relay ${lag.relay_ms} ms, views ${lag.views_ms} ms`],
            ['migrations', `${found.migrations.applied} of ${found.migrations.needed}`],
            [
              'config',
              config.in_force === 'file' ? config.file : `the last good one: ${config.problems.join('; ')}`,
            ],
            ['models down', models.map(({ model, code }) => `${model} (${code})`).join(', ') || '-'],
            ['targets down', targets.map(({ target, reason }) => `${target} (${reason})`).join(', ') || '-'],
          ],
          out.style,
        ),
      ].join('\n'),
    );
    return undefined;
  },
});

function countText({ count, exact }: Figure): string {
  return exact ? String(count) : `at least ${count}`;
}
