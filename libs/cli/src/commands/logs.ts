import { followSession } from '../api/follow-session.ts';
import type { SessionEvent } from '../api/types.ts';
import { defineCommand } from '../command-line/command.ts';
import { eventLine } from '../timeline/event-line.ts';
import { sessionArgument, sessionPath } from './session-argument.ts';

export const logs = defineCommand({
  name: 'logs',
  summary: 'show the events of a session, one per line',
  description: 'With --json, each line is one event as the API returns it, with all its data.',
  arguments: [sessionArgument],
  options: {
    follow: { short: 'f', summary: 'keep running and show new events until the session is settled' },
    type: {
      value: 'type',
      many: true,
      summary: 'only events of this type, or with this prefix: `delivery.`',
    },
  },
  examples: [
    { command: 'angelia logs 01a1e281-20d9-7563-b8f1-427765d52c50', does: 'all events' },
    { command: 'angelia logs -f 01a1e281-20d9-7563-b8f1-427765d52c50', does: 'live, until it is settled' },
    {
      command: 'angelia logs --type delivery. --json 01a1e281-20d9-7563-b8f1-427765d52c50 | jq -c .data',
      does: 'only its deliveries',
    },
  ],
  calls: ['get /v1/sessions/{id}/events', 'get /v1/sessions/{id}/stream'],
  run: async ({ api, given, out, runtime }) => {
    const client = api();
    const types = given.texts('type');
    const show = (event: SessionEvent): void => {
      if (types.length > 0 && !types.some((type) => event.type.startsWith(type))) return;
      out.item(event, () => eventLine(event, out));
    };
    if (!given.switch('follow')) {
      const { items } = await client.get<{ items: SessionEvent[] }>(`${sessionPath(given)}/events`);
      for (const event of items) show(event);
      return undefined;
    }
    const id = given.argument('session') ?? '';
    for await (const event of followSession(client, id, { signal: runtime.signal, forTerminal: !out.json })) {
      show(event);
    }
    return undefined;
  },
});
