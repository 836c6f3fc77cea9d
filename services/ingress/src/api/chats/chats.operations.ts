import { z } from 'zod';
import { answer, component, operation } from '../../http/operation.ts';

const time = z.iso.datetime();

export type ChatJson = z.infer<typeof chat>;
const chat = component(
  'Chat',
  z.object({
    name: z.string(),
    platform: z.string(),
    receive: z.enum(['webhook', 'connection']),
    enabled: z.boolean(),
    webhook_url: z
      .string()
      .nullable()
      .describe('where the platform sends updates; null: `public_url` is not set, or it is a connection'),
    connection: z
      .object({
        leading: z.boolean().describe('whether the replica that answers has the connection'),
        connected: z.boolean(),
        error: z.string().nullable().describe('why the last try failed'),
      })
      .nullable()
      .describe('null: it is a webhook'),
  }),
);

const chats = component('Chats', z.object({ items: z.array(chat) }));

export const newPairing = component(
  'NewPairing',
  z.strictObject({
    name: z
      .string()
      .regex(
        /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,39}$/u,
        'give a name of up to 40 letters, digits, blanks, . _ and -',
      )
      .describe('the name of the person or group, which becomes part of the actor of what they do'),
  }),
);

export type PairingCodeJson = z.infer<typeof pairingCode>;
const pairingCode = component(
  'PairingCode',
  z.object({
    id: z.string(),
    name: z.string(),
    code: z.string().describe('shown this one time; send `/pair` and the code to the bot'),
    expires_at: time,
  }),
);

export type PairingJson = z.infer<typeof pairing>;
const pairing = component(
  'Pairing',
  z.object({
    id: z.string(),
    name: z.string(),
    offered_at: time,
    offered_by: z.string().describe('the actor who asked for the code'),
    expires_at: time.describe('of the code'),
    accepted: z
      .object({
        kind: z.enum(['user', 'chat']).describe('a person, or everybody in a group'),
        id: z.string().describe("the platform's id"),
        at: time,
      })
      .nullable()
      .describe('null: the code has not been used'),
  }),
);

const pairings = component('Pairings', z.object({ items: z.array(pairing) }));

export type ChatSetupJson = z.infer<typeof setup>;
const setup = component(
  'ChatSetup',
  z.object({
    done: z.array(z.string()).describe('what was done at the platform'),
    todo: z.array(z.string()).describe('what a person has to do there'),
    paste: z
      .object({ what: z.string(), text: z.string() })
      .nullable()
      .describe('ready to paste there, such as the manifest of a Slack app'),
  }),
);

const name = { name: 'name of the chat in the config' };

export const chatOperations = [
  operation({
    method: 'get',
    path: '/v1/chats',
    summary: 'List the chats of the config, and how they are connected',
    access: 'admin',
    answers: { 200: answer('all chats', chats) },
  }),
  operation({
    method: 'post',
    path: '/v1/chats/{name}/setup',
    summary: 'Register commands and the webhook at the platform',
    description: 'May be called again, for example after `public_url` has changed.',
    access: 'admin',
    parameters: name,
    answers: { 200: answer('what was done, and what is left to do', setup) },
    errors: [404, 409],
  }),
  operation({
    method: 'get',
    path: '/v1/chats/{name}/pairings',
    summary: 'List who was let in by a code, and the codes that wait',
    access: 'admin',
    parameters: name,
    answers: { 200: answer('without those that were revoked or have expired', pairings) },
    errors: [404],
  }),
  operation({
    method: 'post',
    path: '/v1/chats/{name}/pairings',
    summary: 'Make a one-time code that lets a person or a group in',
    access: 'admin',
    parameters: name,
    body: newPairing,
    answers: { 201: answer('the code, which lasts for ten minutes', pairingCode) },
    errors: [400, 404, 413, 415],
  }),
  operation({
    method: 'delete',
    path: '/v1/chats/{name}/pairings/{id}',
    summary: 'Revoke a pairing, or a code that was not used',
    access: 'admin',
    parameters: { ...name, id: 'id of the pairing' },
    answers: { 204: answer('within two seconds, it may no longer speak') },
    errors: [404],
  }),
];
