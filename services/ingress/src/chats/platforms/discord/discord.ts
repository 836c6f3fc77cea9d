import { prepareSecret } from '../../../webhooks/authenticate/scheme.ts';
import { discord as scheme } from '../../../webhooks/authenticate/schemes/discord.ts';
import { propertyOf } from '../../../webhooks/payload/lookup.ts';
import type { ChatFile, ChatPlatform, PlatformCall, PlatformSettings } from '../../platform.ts';
import { fetchBytes } from '../call-json.ts';
import { answerInteraction } from './answer-interaction.ts';
import { botIdOf, callDiscord } from './discord-call.ts';
import { COMMAND_RECEIVED, isCommand, quietAnswer, readInteraction } from './discord-interaction.ts';
import { runGateway } from './gateway.ts';

/** Messages come by the gateway. Commands and clicks come there too, unless the application has an interactions URL. */
export const discord: ChatPlatform = {
  name: 'discord',

  chatOf({ channel_id: channel, thread_id: thread }) {
    const id = thread ?? channel;
    return typeof id === 'string' || typeof id === 'number' ? String(id) : null;
  },
  addressOf: (chat) => ({ channel_id: chat }),

  webhook: {
    verify: (request, settings) => {
      const secret = publicKeyOf(settings);
      return secret !== null && scheme.verify(request, secret);
    },
    read: (body) => [readInteraction(body)],
    handshake: (body) => scheme.handshake?.(body) ?? null,
    answer(_updates, body) {
      // A click is answered by a call that says what came of it. Without a body Discord waits for that call.
      return isCommand(body) ? { status: 200, body: quietAnswer(COMMAND_RECEIVED) } : { status: 202 };
    },
  },

  connection: { account: botIdOf, run: runGateway },

  async acknowledge({ acknowledgement }, text, context) {
    const { id, token, application } = acknowledgement;
    const interaction = { id: String(id), token: String(token), application: String(application) };
    await answerInteraction(interaction, text, context);
  },

  async fetchFile(file, mostBytes, { settings, signal }) {
    return fetchBytes({
      what: 'Discord refused a file',
      url: allowedAddress(file, settings),
      // The address is signed. The token is for the API only.
      headers: {},
      mostBytes,
      signal,
    });
  },

  async setup({ commands, webhookUrl }, context) {
    const application = await callDiscord('GET', '/applications/@me', context);
    const id = String(propertyOf(application, 'id'));
    // Replaces all commands, so that a repeat changes nothing and old ones disappear.
    const menu = [...commands, PAIR];
    await callDiscord(
      'PUT',
      `/applications/${encodeURIComponent(id)}/commands`,
      context,
      menu.map(({ name, description }) => ({
        name,
        // "1-100 characters"
        description: description.slice(0, LONGEST_DESCRIPTION),
        type: SLASH_COMMAND,
        options: [{ type: STRING, name: 'text', description: 'The rest of the command', required: false }],
      })),
    );
    const done = [`Discord shows ${menu.length} commands to everybody who may use them.`];
    const flags = propertyOf(application, 'flags');
    const todo =
      typeof flags === 'number' && (flags & MESSAGE_CONTENT_FLAGS) === 0
        ? ['Switch on "Message Content Intent" at discord.com/developers, Bot.']
        : [];
    return await interactionsUrl(webhookUrl, application, context, { done, todo });
  },
};

/** Elsewhere people just write it. An interactions URL brings no messages. */
const PAIR = { name: 'pair', description: 'Let yourself or this channel in: /pair [code]' };
const SLASH_COMMAND = 1;
const STRING = 3;
const LONGEST_DESCRIPTION = 100;
/** GATEWAY_MESSAGE_CONTENT and GATEWAY_MESSAGE_CONTENT_LIMITED of an application. */
const MESSAGE_CONTENT_FLAGS = (1 << 18) | (1 << 19);

/** With an interactions URL, commands and clicks no longer come by the gateway. */
async function interactionsUrl(
  webhookUrl: string | null,
  application: unknown,
  context: PlatformCall,
  { done, todo }: { readonly done: readonly string[]; readonly todo: readonly string[] },
) {
  const now = propertyOf(application, 'interactions_endpoint_url') ?? null;
  const { receive } = context.settings.chat;
  const wanted = receive === 'webhook' ? webhookUrl : null;
  if (receive === 'webhook' && wanted === null) {
    return { done, todo: [...todo, 'Set `public_url` in the config, and run this command again.'] };
  }
  if (now !== wanted) {
    await callDiscord('PATCH', '/applications/@me', context, { interactions_endpoint_url: wanted });
  }
  const where =
    wanted === null
      ? 'Commands and clicks come by the gateway: no interactions URL is set.'
      : `Discord sends commands and clicks to ${wanted}.`;
  return { done: [...done, where], todo };
}

let prepared: { readonly text: string; readonly secret: ReturnType<typeof prepareSecret> } | null = null;

/** There is one chat of Discord, so one key is kept, and no request imports it again. */
function publicKeyOf({ chat }: PlatformSettings): ReturnType<typeof prepareSecret> | null {
  const { public_key: text } = chat;
  if (typeof text !== 'string') return null;
  if (prepared?.text !== text) prepared = { text, secret: prepareSecret(text) };
  return prepared.secret;
}

const CDN: ReadonlySet<string> = new Set(['https://cdn.discordapp.com', 'https://media.discordapp.net']);

/** A message says where its file is, but it does not say whom we ask. */
function allowedAddress({ id }: ChatFile, { target }: PlatformSettings): string {
  const url = URL.canParse(id) ? new URL(id) : null;
  const ownServer = new URL(String(target.api_base)).origin;
  if (url === null || !(CDN.has(url.origin) || url.origin === ownServer)) {
    throw new Error('the file is not on a server of Discord');
  }
  return url.href;
}
