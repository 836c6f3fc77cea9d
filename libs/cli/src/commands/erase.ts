import type { SessionRef } from '../api/types.ts';
import { defineCommand } from '../command-line/command.ts';
import { confirm, yesOption } from '../terminal/confirm.ts';
import { sessionArgument, sessionPath } from './session-argument.ts';

export const erase = defineCommand({
  name: 'erase',
  summary: 'delete a session for good, with every event and row',
  description:
    'Use it when a person asks you to delete their data. Only a settled session can be erased. A continuation has a copy of ' +
    'the conversation: erase it by its own id. The delivery id stays known, so a repeat of the webhook starts nothing.',
  arguments: [sessionArgument],
  options: yesOption,
  examples: [{ command: 'angelia erase 01a1e281-20d9-7563-b8f1-427765d52c50 --yes', does: 'without asking' }],
  calls: ['delete /v1/sessions/{id}'],
  run: async (context) => {
    const { api, given, out } = context;
    const client = api();
    await confirm(context, `erase session ${given.argument('session')} for good`);
    const erased = await client.send<SessionRef>('DELETE', sessionPath(given));
    out.answer(erased, () => `${erased.session_id} is erased`);
    return undefined;
  },
});
