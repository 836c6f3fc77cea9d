import { unstartedOutcomes } from '@angelia/contracts/unstarted-outcomes';
import type { UnstartedCount, UnstartedWebhook } from '../api/types.ts';
import { type Context, defineCommand, type Option } from '../command-line/command.ts';
import { wrapped } from '../command-line/help.ts';
import { type Column, oneLine, table } from '../terminal/table.ts';
import { agoText } from '../terminal/time.ts';

const filters = {
  route: { value: 'name', names: 'route', summary: 'only webhooks of this route' },
  outcome: {
    value: 'outcome',
    values: unstartedOutcomes,
    summary: 'only webhooks with this outcome',
  },
} as const satisfies Readonly<Record<string, Option>>;

export const webhooksList = defineCommand({
  name: 'webhooks list',
  isDefault: true,
  summary: 'list webhooks that started no session, with the reason',
  description:
    'Below each it says why: which header is missing, how far the timestamp is off, or which filter said no to which value. ' +
    'Angelia keeps the last 50 of each route, outcome and reason, for at most 7 days.',
  options: { ...filters, limit: { value: 'n', summary: 'how many, up to 200 (50)' } },
  examples: [
    { command: 'angelia webhooks --route github-pr', does: 'why did nothing happen?' },
    { command: 'angelia webhooks --outcome unauthorized', does: 'webhooks with a wrong signature' },
  ],
  calls: ['get /v1/webhooks'],
  run: async ({ api, given, out, runtime }) => {
    const answer = await api().get<{ items: UnstartedWebhook[] }>('/v1/webhooks', {
      route: given.text('route'),
      outcome: given.text('outcome'),
      limit: given.number('limit', { from: 1, to: 200 }),
    });
    const columns: Column<UnstartedWebhook>[] = [
      {
        head: 'WHEN',
        text: ({ received_at: at }) => agoText(at, runtime.now()),
        tone: () => 'dim',
        dropped: 2,
      },
      {
        head: 'ROUTE',
        text: ({ route, requested_route: asked }) => route ?? `(${asked ?? 'none'})`,
        flexible: true,
      },
      { head: 'OUTCOME', text: ({ outcome }) => outcome, tone: () => 'warn' },
      { head: 'REASON', text: ({ reason }) => reason, flexible: true },
      { head: 'HTTP', text: ({ status }) => String(status), right: true, dropped: 3 },
      { head: 'EVENT', text: ({ event }) => event ?? '-', flexible: true, dropped: 4 },
      { head: 'FROM', text: ({ source }) => source ?? '-', dropped: 5 },
      { head: 'DELIVERY ID', text: ({ delivery_id: id }) => id ?? '-', dropped: 6 },
      { head: 'SESSION', text: ({ session_id: id }) => id ?? '-', dropped: 7 },
    ];
    out.answer(answer, () => (answer.items.length === 0 ? '' : withDetails(answer.items, columns, out)));
    if (answer.items.length === 0) out.note('there are no such webhooks');
    return undefined;
  },
});

/** The reason of each is below it, on as many lines as it needs, because it must not be cut. */
function withDetails(
  items: readonly UnstartedWebhook[],
  columns: readonly Column<UnstartedWebhook>[],
  out: Context['out'],
): string {
  const [head, ...rows] = table(items, columns, out).split('\n');
  return [
    head,
    ...rows.flatMap((row, index) => {
      const detail = items[index]?.detail ?? null;
      return detail === null
        ? [row]
        : [row, ...wrapped(oneLine(detail), out.width - 2).map((line) => `  ${line}`)];
    }),
  ].join('\n');
}

export const webhooksCounts = defineCommand({
  name: 'webhooks counts',
  summary: 'count webhooks that started no session, by route, outcome and reason',
  options: filters,
  examples: [{ command: 'angelia webhooks counts', does: 'how many, and since when' }],
  calls: ['get /v1/webhooks/counts'],
  run: async ({ api, given, out, runtime }) => {
    const answer = await api().get<{ items: UnstartedCount[] }>('/v1/webhooks/counts', {
      route: given.text('route'),
      outcome: given.text('outcome'),
    });
    const columns: Column<UnstartedCount>[] = [
      { head: 'ROUTE', text: ({ route }) => route ?? '-', flexible: true },
      { head: 'OUTCOME', text: ({ outcome }) => outcome, tone: () => 'warn' },
      { head: 'REASON', text: ({ reason }) => reason, flexible: true },
      { head: 'COUNT', text: ({ count }) => String(count), right: true },
      {
        head: 'SINCE',
        text: ({ first_at: at }) => agoText(at, runtime.now()),
        tone: () => 'dim',
        dropped: 2,
      },
      { head: 'LAST', text: ({ last_at: at }) => agoText(at, runtime.now()), tone: () => 'dim', dropped: 1 },
    ];
    out.answer(answer, () => (answer.items.length === 0 ? '' : table(answer.items, columns, out)));
    return undefined;
  },
});
