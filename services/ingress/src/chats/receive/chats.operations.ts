import { z } from 'zod';
import { answer, component, operation } from '../../http/operation.ts';

const taken = component(
  'ChatUpdateTaken',
  z.record(z.string(), z.unknown()).describe('what the platform wants to read: often nothing'),
);

export const chatUpdateOperations = [
  operation({
    method: 'post',
    path: '/chats/{platform}/{name}',
    summary: 'Take an update of a chat platform; 200 once it is durable',
    description: 'Signed by the scheme of the platform. docs/chats.md says how to set it up.',
    access: 'signature',
    parameters: {
      platform: 'name of the platform, such as `telegram`',
      name: 'name of the chat in the config',
    },
    body: null,
    answers: { 200: answer('taken, taken before, or of no interest', taken) },
    errors: [400, 401, 403, 404, 408, 413, 415, 503],
  }),
];
