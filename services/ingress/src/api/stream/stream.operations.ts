import { z } from 'zod';
import { type Answer, answer, component, operation } from '../../http/operation.ts';
import { sessionIdParameter } from '../sessions/session-id.ts';

const eventStream: Answer = {
  description:
    'server-sent events: `id` is the version, `data` is one event as JSON. Stored events come first, then new ones as ' +
    'they happen. The stream ends when the session is settled.',
  schema: component('EventStream', z.string()),
  contentType: 'text/event-stream',
};

export const streamOperations = [
  operation({
    method: 'get',
    path: '/v1/sessions/{id}/stream',
    summary: 'The same events, live',
    access: 'admin',
    parameters: sessionIdParameter,
    headers: {
      'Last-Event-ID': 'the version of the last event that was seen: the stream continues after it',
    },
    answers: {
      200: eventStream,
      204: answer('the session is settled and has no event after Last-Event-ID: do not reconnect'),
    },
    errors: [400, 404],
  }),
];
