import { defineCommand } from '../command-line/command.ts';
import { type Column, table } from '../terminal/table.ts';

interface Chat {
  readonly name: string;
  readonly platform: string;
  readonly receive: string;
  readonly enabled: boolean;
  readonly webhook_url: string | null;
  readonly connection: { readonly connected: boolean; readonly error: string | null } | null;
}

interface Pairing {
  readonly id: string;
  readonly name: string;
  readonly offered_by: string;
  readonly expires_at: string;
  readonly accepted: { readonly kind: string; readonly id: string; readonly at: string } | null;
}

interface Setup {
  readonly done: readonly string[];
  readonly todo: readonly string[];
  readonly paste: { readonly what: string; readonly text: string } | null;
}

const chatArgument = { name: 'chat', summary: 'name of the chat in the config' } as const;
const pathOf = (chat: string | null): string => `/v1/chats/${encodeURIComponent(chat ?? '')}`;

export const chatList = defineCommand({
  name: 'chat list',
  isDefault: true,
  summary: 'list the chats of the config, and how they are connected',
  examples: [{ command: 'angelia chat', does: 'all chats' }],
  calls: ['get /v1/chats'],
  run: async ({ api, out }) => {
    const chats = await api().get<{ items: readonly Chat[] }>('/v1/chats');
    const columns: Column<Chat>[] = [
      { head: 'CHAT', text: ({ name }) => name },
      { head: 'PLATFORM', text: ({ platform }) => platform },
      { head: 'RECEIVES BY', text: ({ receive, enabled }) => (enabled ? receive : 'disabled') },
      { head: 'STATE', text: stateOf, flexible: true },
    ];
    out.answer(chats, () => (chats.items.length === 0 ? '' : table(chats.items, columns, out)));
    return undefined;
  },
});

/** Only the replica that has the connection knows more than that. */
function stateOf({ connection, webhook_url: url }: Chat): string {
  if (connection === null) return url ?? 'set public_url to register the webhook';
  return connection.error ?? (connection.connected ? 'connected' : 'not connected by this replica');
}

export const chatSetup = defineCommand({
  name: 'chat setup',
  summary: 'register commands and the webhook of a chat at its platform',
  description:
    'It prints what it did, and what you have to do at the platform yourself. Run it again after you have changed ' +
    '`public_url` or `receive`.',
  arguments: [chatArgument],
  examples: [{ command: 'angelia chat setup home', does: 'the menu of the bot, and its webhook' }],
  calls: ['post /v1/chats/{name}/setup'],
  run: async ({ api, given, out }) => {
    const setup = await api().send<Setup>('POST', `${pathOf(given.argument('chat'))}/setup`);
    out.answer(setup, () => [...setup.done, ...(setup.paste === null ? [] : [setup.paste.text])].join('\n'));
    for (const todo of setup.todo) out.note(`to do: ${todo}`);
    return undefined;
  },
});

export const chatPair = defineCommand({
  name: 'chat pair',
  summary: 'make a one-time code that lets a person or a group in',
  description:
    'Send `/pair` and the code to the bot within ten minutes. In a conversation with the bot it lets you in, in a group ' +
    'everybody there. The name becomes part of the actor of what they do.',
  arguments: [chatArgument],
  options: { name: { value: 'name', summary: 'what the person or the group is called' } },
  examples: [{ command: 'angelia chat pair home --name Ada', does: 'a code for Ada' }],
  calls: ['post /v1/chats/{name}/pairings'],
  run: async ({ api, given, out }) => {
    const name = given.text('name') ?? 'paired';
    const made = await api().send<{ code: string; expires_at: string }>(
      'POST',
      `${pathOf(given.argument('chat'))}/pairings`,
      { body: { name } },
    );
    out.answer(made, () => `/pair ${made.code}`);
    out.note(`send this to the bot before ${made.expires_at}`);
    return undefined;
  },
});

export const chatPairings = defineCommand({
  name: 'chat pairings',
  summary: 'list who was let in by a code, and the codes that wait',
  arguments: [chatArgument],
  examples: [{ command: 'angelia chat pairings home', does: 'who may speak besides those in the config' }],
  calls: ['get /v1/chats/{name}/pairings'],
  run: async ({ api, given, out }) => {
    const list = await api().get<{ items: readonly Pairing[] }>(`${pathOf(given.argument('chat'))}/pairings`);
    const columns: Column<Pairing>[] = [
      { head: 'ID', text: ({ id }) => id },
      { head: 'NAME', text: ({ name }) => name },
      {
        head: 'WHO',
        text: ({ accepted, expires_at }) =>
          accepted === null ? `code, until ${expires_at}` : `${accepted.kind} ${accepted.id}`,
        flexible: true,
      },
    ];
    out.answer(list, () => (list.items.length === 0 ? '' : table(list.items, columns, out)));
    return undefined;
  },
});

export const chatUnpair = defineCommand({
  name: 'chat unpair',
  summary: 'revoke a pairing, or a code that was not used',
  arguments: [chatArgument, { name: 'pairing', summary: 'id of the pairing' }],
  examples: [{ command: 'angelia chat unpair home 3f0c…', does: 'this person may no longer speak' }],
  calls: ['delete /v1/chats/{name}/pairings/{id}'],
  run: async ({ api, given, out }) => {
    const id = given.argument('pairing') ?? '';
    await api().send('DELETE', `${pathOf(given.argument('chat'))}/pairings/${encodeURIComponent(id)}`);
    out.answer({ id }, () => `revoked ${id}`);
    return undefined;
  },
});
