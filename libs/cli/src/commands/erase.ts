import type { SessionRef } from '../api/types.ts';
import { defineCommand } from '../command-line/command.ts';
import { confirm } from '../terminal/confirm.ts';
import { BULK, bulkOptions, runBulk } from './bulk.ts';
import { oneOrFiltered, sessionOrFilters, sessionPath } from './session-argument.ts';
import { sessionFilters } from './session-filters.ts';

export const erase = defineCommand({
  name: 'erase',
  summary: 'delete sessions for good, with every event and row',
  description:
    'Use it when a person asks you to delete their data. Only settled sessions can be erased. A continuation has a copy of ' +
    'the conversation: erase it by its own id. The delivery id stays known, so a repeat of the webhook starts nothing. ' +
    BULK,
  arguments: [sessionOrFilters],
  options: { ...sessionFilters, ...bulkOptions },
  examples: [
    { command: 'angelia erase 01a1e281-20d9-7563-b8f1-427765d52c50 --yes', does: 'without asking' },
    { command: 'angelia erase --route try-out --until 7d --dry-run', does: 'how many would it be?' },
  ],
  calls: ['delete /v1/sessions/{id}', 'post /v1/jobs'],
  run: async (context) => {
    const { api, given, out } = context;
    if (oneOrFiltered(context, 'erase') === 'filtered') {
      return runBulk(context, {
        action: 'erase',
        filters: Object.keys(sessionFilters),
        question: (count) => `erase ${count} settled sessions for good`,
      });
    }
    const client = api();
    await confirm(context, `erase session ${given.argument('session')} for good`);
    const erased = await client.send<SessionRef>('DELETE', sessionPath(given));
    out.answer(erased, () => `${erased.session_id} is erased`);
    return undefined;
  },
});
