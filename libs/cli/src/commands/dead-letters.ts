import type { DeadLetter } from '../api/types.ts';
import { defineCommand } from '../command-line/command.ts';
import { type Column, table } from '../terminal/table.ts';
import { agoText } from '../terminal/time.ts';
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
    const { out, runtime } = context;
    const page = await fetchPage<DeadLetter>(context, '/v1/dead-letters');
    const columns: Column<DeadLetter>[] = [
      { head: 'ID', text: ({ id }) => id, right: true },
      { head: 'STREAM', text: ({ stream_id: id }) => id },
      { head: 'VERSION', text: ({ version }) => String(version), right: true },
      { head: 'HANDLER', text: ({ handler }) => handler },
      { head: 'WHEN', text: ({ recorded_at: at }) => agoText(at, runtime.now()), tone: () => 'dim' },
      { head: 'REASON', text: ({ reason }) => reason, flexible: true },
    ];
    out.answer(page, () => (page.items.length === 0 ? '' : table(page.items, columns, out)));
    if (page.items.length === 0) out.note('there are no dead letters');
    noteMore(context, page);
    return undefined;
  },
});

export const deadLettersReplay = defineCommand({
  name: 'dead-letters replay',
  summary: 'process dead letters again, after you have fixed the cause',
  description: 'If one fails again, it becomes a new dead letter.',
  arguments: [{ name: 'id', many: true, summary: 'the id that the list shows' }],
  examples: [{ command: 'angelia dead-letters replay 12', does: 'after the fix' }],
  calls: ['post /v1/dead-letters/{id}/replay'],
  run: async ({ api, given, out }) => {
    const client = api();
    return forEachNamed({ out }, given.argumentsFrom('id'), async (id) => {
      const taken = await client.send<{ id: string }>(
        'POST',
        `/v1/dead-letters/${encodeURIComponent(id)}/replay`,
      );
      out.item(taken, () => `dead letter ${taken.id} is being processed again`);
    });
  },
});
