import type { DeadLetter } from '../api/types.ts';
import { defineCommand } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { BULK, bulkOptions, isBulk, runBulk } from './bulk.ts';
import { deadLetterTable } from './dead-letters-table.ts';
import { forEachNamed } from './for-each.ts';
import { fetchPage, noteMore, pagingOptions } from './paging.ts';

export const deadLettersList = defineCommand({
  name: 'dead-letters list',
  isDefault: true,
  summary: 'list events that no handler could process, newest first',
  description: 'An outage never makes a dead letter, and a dead letter blocks nothing behind it.',
  options: pagingOptions,
  examples: [{ command: 'angelia dead-letters', does: 'what failed, and why' }],
  calls: ['get /v1/dead-letters'],
  run: async (context) => {
    const { out } = context;
    const page = await fetchPage<DeadLetter>(context, '/v1/dead-letters');
    out.answer(page, () => deadLetterTable(page.items, context));
    noteMore(context, page, 'dead letters');
    return undefined;
  },
});

const FILTERS = ['handler', 'session', 'since', 'until'];

export const deadLettersReplay = defineCommand({
  name: 'dead-letters replay',
  summary: 'process dead letters again, after you have fixed the cause',
  description: `If one fails again, it becomes a new dead letter. ${BULK}`,
  arguments: [{ name: 'id', optional: true, many: true, summary: 'the whole id that the list shows' }],
  options: {
    handler: { value: 'name', summary: 'only those of this service, or of the `projection`' },
    session: { value: 'id', names: 'session', summary: 'only those of this session' },
    since: {
      value: 'when',
      summary: 'recorded at this time or later: ISO 8601, or how long ago (15m, 2h, 7d)',
    },
    until: { value: 'when', summary: 'recorded before this time' },
    all: { summary: 'all of them, without a filter' },
    ...bulkOptions,
  },
  examples: [
    { command: 'angelia dead-letters replay 12', does: 'one, after the fix' },
    { command: 'angelia dead-letters replay --handler delivery --dry-run', does: 'how many would it be?' },
    { command: 'angelia dead-letters replay --all --yes', does: 'all of them' },
  ],
  calls: ['post /v1/dead-letters/{id}/replay', 'post /v1/jobs'],
  run: async (context) => {
    const { api, given, out } = context;
    const ids = given.argumentsFrom('id');
    const byFilter = isBulk(context, ids, FILTERS) || given.switch('all');
    if (ids.length > 0 === byFilter) {
      throw new CliError(
        EXIT.usage,
        'name the dead letters, or give filters, or --all',
        'angelia help dead-letters replay',
      );
    }
    if (byFilter) {
      return runBulk(context, {
        action: 'replay-dead-letters',
        filters: FILTERS,
        question: (count) => `process ${count} dead letters again`,
      });
    }
    const client = api();
    return forEachNamed({ out }, ids, async (id) => {
      const taken = await client.send<{ id: string }>(
        'POST',
        `/v1/dead-letters/${encodeURIComponent(id)}/replay`,
      );
      out.item(taken, () => `dead letter ${taken.id} is being processed again`);
    });
  },
});
