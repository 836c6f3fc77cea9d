import { z } from 'zod';
import { component, operation } from '../../http/operation.ts';
import { routeName } from '../../http/parse-request.ts';

export const eventsQuery = z.strictObject({
  route: routeName.optional().describe('only events of sessions of this route'),
  type: z
    .string()
    .regex(
      /^[a-z][a-z.-]*(,[a-z][a-z.-]*)*$/,
      'give types of events, or beginnings that end in a dot: `delivery.`',
    )
    .transform((text) => text.split(','))
    .optional()
    .describe('only events of these types, separated by commas; `delivery.` means all that begin with it'),
});

export const eventOperations = [
  operation({
    method: 'get',
    path: '/v1/events',
    summary: 'All events of all sessions, live',
    description:
      'Events come in the order of the log, each once. `Last-Event-ID` continues after that event, also on another server ' +
      'and after a restart. Without it, the feed starts from now. A message without data only tells the place so far.',
    access: 'admin',
    query: eventsQuery,
    headers: { 'Last-Event-ID': 'the `id` of the last event that was seen: the feed continues after it' },
    answers: {
      200: {
        description:
          'server-sent events: `id` is a place in the log, `data` is one event as JSON, as in /v1/sessions/{id}/events, with ' +
          '`stream_id` and `session_id` (null for events of routes, keys and jobs). The feed does not end.',
        schema: component('EventFeed', z.string()),
        contentType: 'text/event-stream',
      },
    },
    errors: [400],
  }),
];
