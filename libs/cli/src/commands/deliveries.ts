import type { Delivery } from '../api/types.ts';
import { defineCommand } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { toneOf } from '../terminal/style.ts';
import { type Column, table } from '../terminal/table.ts';
import { agoText } from '../terminal/time.ts';
import { forEachNamed } from './for-each.ts';
import { fetchPage, noteMore, pagingOptions } from './paging.ts';

export const deliveries = defineCommand({
  name: 'deliveries',
  summary: 'list deliveries, most recently changed first',
  options: {
    status: {
      value: 'status',
      values: ['pending', 'delivered', 'dead', 'dropped'],
      summary: 'only deliveries with this status',
    },
    session: { value: 'id', summary: 'only deliveries of this session' },
    target: { value: 'name', summary: 'only deliveries to this target' },
    route: { value: 'name', summary: 'only deliveries of this route' },
    ...pagingOptions,
  },
  examples: [
    { command: 'angelia deliveries --status dead', does: 'what did not arrive, and why' },
    {
      command: 'angelia deliveries --session 01a1e281-20d9-7563-b8f1-427765d52c50',
      does: 'the deliveries of one session',
    },
  ],
  calls: ['get /v1/deliveries'],
  run: async (context) => {
    const { given, out, runtime } = context;
    const page = await fetchPage<Delivery>(context, '/v1/deliveries', {
      status: given.text('status'),
      session: given.text('session'),
      target: given.text('target'),
      route: given.text('route'),
    });
    const columns: Column<Delivery>[] = [
      { head: 'DELIVERY', text: ({ id }) => id },
      { head: 'STATUS', text: ({ status }) => status, tone: ({ status }) => toneOf(status) },
      { head: 'TARGET', text: ({ target, via }) => (via === 'target' ? target : `${target} (fallback)`) },
      { head: 'KIND', text: ({ kind }) => kind },
      { head: 'TRIES', text: ({ attempts }) => String(attempts), right: true },
      { head: 'CHANGED', text: ({ updated_at: at }) => agoText(at, runtime.now()), tone: () => 'dim' },
      { head: 'WHAT', text: whatOf, flexible: true },
    ];
    out.answer(page, () => (page.items.length === 0 ? '' : table(page.items, columns, out)));
    noteMore(context, page);
    return undefined;
  },
});

function whatOf({
  status,
  reason,
  receipt,
  next_attempt_at: next,
  possible_duplicate: twice,
}: Delivery): string {
  return [
    status === 'delivered' ? receipt : reason,
    status === 'pending' && next !== null ? `due ${next}` : null,
    twice ? 'possible duplicate' : null,
  ]
    .filter((part) => part !== null)
    .join('; ');
}

/** The API's limit for one call. */
const MOST_RETRIES = 1_000;

interface Retried {
  readonly retried: readonly string[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
  readonly more: boolean;
}

export const retry = defineCommand({
  name: 'retry',
  summary: 'send dead deliveries again',
  description:
    'It sends the deliveries that you name, or with --dead all that match the filters. Pending deliveries are retried by themselves.',
  arguments: [{ name: 'delivery', optional: true, many: true, summary: 'ids from `angelia deliveries`' }],
  options: {
    dead: { summary: 'all dead deliveries' },
    target: { value: 'name', summary: 'with --dead: only to this target' },
    route: { value: 'name', summary: 'with --dead: only of this route' },
    session: { value: 'id', summary: 'with --dead: only of this session' },
    limit: { value: 'n', summary: `with --dead: how many, up to ${MOST_RETRIES} (100)` },
  },
  examples: [
    { command: 'angelia retry 01a1e281-20d9-7563-b8f1-427765d52c50.7', does: 'one delivery' },
    { command: 'angelia retry --dead --target telegram', does: 'all of them, when the target works again' },
  ],
  calls: ['post /v1/deliveries/{id}/retry', 'post /v1/deliveries/retry'],
  run: async ({ api, given, out }) => {
    const ids = given.argumentsFrom('delivery');
    if (ids.length > 0 === given.switch('dead')) {
      throw new CliError(
        EXIT.usage,
        'name the deliveries, or give --dead for all dead ones',
        'angelia help retry',
      );
    }
    const client = api();
    if (ids.length > 0) {
      return forEachNamed({ out }, ids, async (id) => {
        const taken = await client.send<{ id: string }>(
          'POST',
          `/v1/deliveries/${encodeURIComponent(id)}/retry`,
        );
        out.item(taken, () => `${taken.id} is sent again`);
      });
    }
    const filter = Object.fromEntries(
      ['target', 'route', 'session'].flatMap((name) => {
        const value = given.text(name);
        return value === null ? [] : [[name, value]];
      }),
    );
    const limit = given.number('limit', { from: 1, to: MOST_RETRIES });
    const done = await client.send<Retried>('POST', '/v1/deliveries/retry', {
      body: { status: 'dead', ...filter, ...(limit === null ? {} : { limit }) },
    });
    out.answer(done, () =>
      [
        ...done.retried.map((id) => `${id} is sent again`),
        ...done.refused.map(({ id, reason }) => out.style('warn', `${id} is not sent again: ${reason}`)),
        ...(done.retried.length + done.refused.length === 0 ? ['there are no dead deliveries'] : []),
      ].join('\n'),
    );
    if (done.more) out.note('there are more: run it again');
    return undefined;
  },
});
