import type { Delivery } from '../api/types.ts';
import { defineCommand } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { BULK, bulkOptions, isBulk, runBulk } from './bulk.ts';
import { deliveryTable } from './deliveries-table.ts';
import { forEachNamed } from './for-each.ts';
import { fetchPage, noteMore, pagingOptions } from './paging.ts';

export const deliveriesList = defineCommand({
  name: 'deliveries list',
  isDefault: true,
  summary: 'list deliveries, most recently changed first',
  options: {
    status: {
      value: 'status',
      values: ['pending', 'delivered', 'dead', 'dropped'],
      summary: 'only deliveries with this status',
    },
    session: { value: 'id', names: 'session', summary: 'only deliveries of this session' },
    target: { value: 'name', summary: 'only deliveries to this target' },
    route: { value: 'name', names: 'route', summary: 'only deliveries of this route' },
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
    const { given, out } = context;
    const page = await fetchPage<Delivery>(context, '/v1/deliveries', {
      status: given.text('status'),
      session: given.text('session'),
      target: given.text('target'),
      route: given.text('route'),
    });
    out.answer(page, () => deliveryTable(page.items, context));
    noteMore(context, page, 'such deliveries');
    return undefined;
  },
});

/** The API's limit for one call. */
const MOST_RETRIES = 1_000;
const FILTERS = ['target', 'route', 'session', 'since', 'until'];

interface Retried {
  readonly retried: readonly string[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
  readonly more: boolean;
}

export const retry = defineCommand({
  name: 'retry',
  summary: 'send dead deliveries again',
  description:
    'It sends the deliveries that you name. With --dead it sends some of the dead ones that fit the filters at once, and ' +
    `prints their ids. Pending deliveries are retried by themselves. ${BULK}`,
  arguments: [
    {
      name: 'delivery',
      names: 'delivery',
      optional: true,
      many: true,
      summary: 'ids from `angelia deliveries`, or enough of their beginning',
    },
  ],
  options: {
    target: { value: 'name', summary: 'only to this target' },
    route: { value: 'name', names: 'route', summary: 'only of this route' },
    session: { value: 'id', names: 'session', summary: 'only of this session' },
    since: { value: 'when', summary: 'dead since this time: ISO 8601, or how long ago (15m, 2h, 7d)' },
    until: { value: 'when', summary: 'dead before this time' },
    all: { summary: 'a job on all dead deliveries, without a filter' },
    dead: { summary: 'send at once instead of as a job, at most --limit' },
    limit: { value: 'n', summary: `with --dead: how many, up to ${MOST_RETRIES} (100)` },
    ...bulkOptions,
  },
  examples: [
    { command: 'angelia retry 01a1e281-20d9-7563-b8f1-427765d52c50.7', does: 'one delivery' },
    { command: 'angelia retry --target telegram --since 2h --dry-run', does: 'how many would it be?' },
    { command: 'angelia retry --target telegram --yes', does: 'all of them, when the target works again' },
    { command: 'angelia retry --dead --route alerts', does: 'up to 100, at once' },
  ],
  calls: ['post /v1/deliveries/{id}/retry', 'post /v1/deliveries/retry', 'post /v1/jobs'],
  run: async (context) => {
    const { api, given, out } = context;
    const ids = given.argumentsFrom('delivery');
    const byFilter = isBulk(context, ids, FILTERS) || given.switch('all');
    if (ids.length > 0 ? given.switch('dead') || given.switch('all') : !byFilter && !given.switch('dead')) {
      throw new CliError(
        EXIT.usage,
        'name the deliveries, or give --dead for all dead ones, or filters',
        'angelia help retry',
      );
    }
    if (ids.length === 0 && !given.switch('dead')) {
      return runBulk(context, {
        action: 'retry-deliveries',
        filters: FILTERS,
        question: (count) => `send ${count} dead deliveries again`,
      });
    }
    const onlyOfJobs = ['since', 'until'].filter((option) => given.text(option) !== null);
    if (onlyOfJobs.length > 0) {
      throw new CliError(
        EXIT.usage,
        `--${onlyOfJobs[0]} makes a job: leave out --dead`,
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
    if (done.more) out.note('there are more: run it again, or give --all instead of --dead');
    return undefined;
  },
});
