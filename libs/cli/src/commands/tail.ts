import { followFeed } from '../api/follow-feed.ts';
import { defineCommand } from '../command-line/command.ts';
import { eventLine } from '../timeline/event-line.ts';
import { showUnstartedWebhooks } from './tail-webhooks.ts';

export const tail = defineCommand({
  name: 'tail',
  summary: 'show the events of all sessions, live',
  description:
    'It shows every event from now on, in the order of the log, however many sessions there are. After a broken connection ' +
    'it continues where it was. Webhooks that started no session are shown too, with the reason (`webhook.refused`, ' +
    '`webhook.ignored`). With --json, each line is an event with its `session_id`, also those of routes, keys and jobs, whose ' +
    '`session_id` is null.',
  options: {
    route: { value: 'name', names: 'route', summary: 'only sessions of this route' },
    type: {
      value: 'type',
      many: true,
      summary: 'only events of this type, or with this prefix: `delivery.`',
    },
  },
  examples: [
    { command: 'angelia tail', does: 'everything, until Ctrl-C' },
    { command: 'angelia tail --route github-pr --type session.', does: 'statuses and answers of one route' },
    {
      command: 'angelia tail --json | jq -c "select(.type == \\"delivery.dead\\")"',
      does: 'only deliveries that died',
    },
  ],
  calls: ['get /v1/events', 'get /v1/webhooks'],
  run: async (context) => {
    const { api, given, out, runtime } = context;
    const client = api();
    const query = new URLSearchParams();
    const route = given.text('route');
    if (route !== null) query.set('route', route);
    const types = given.texts('type').map((type) => (type.includes('.') ? type : `${type}.`));
    if (types.length > 0) query.set('type', types.join(','));
    // The end of the feed ends the look for webhooks, and its failure ends the feed.
    const over = new AbortController();
    const signal = AbortSignal.any([runtime.signal, over.signal]);
    let broken: unknown = null;
    const feed = followFeed(client, {
      query,
      signal,
      forTerminal: !out.json,
      onOpen: () => {
        out.note('waiting for events (press Ctrl-C to stop)');
        showUnstartedWebhooks(context, client, signal).catch((error: unknown) => {
          broken = error;
          over.abort();
        });
      },
      onBroken: (reason) => out.note(`${reason}; trying again`),
    });
    try {
      for await (const event of feed) {
        // Keys are how the log takes a webhook once. They tell a person nothing that the session does not.
        if (!out.json && event.stream_id.startsWith(KEY_STREAM)) continue;
        out.item(event, () => eventLine(event, { ...out, session: event.stream_id }));
      }
    } catch (error) {
      throw broken ?? error;
    } finally {
      over.abort();
    }
    return undefined;
  },
});

const KEY_STREAM = 'key-';
