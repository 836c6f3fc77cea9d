import { hash, timingSafeEqual } from 'node:crypto';
import { isClickProof } from '@angelia/chats';
import { headerOf, type SignedRequest } from '../../../webhooks/authenticate/scheme.ts';
import { readPayload } from '../../../webhooks/payload/read-payload.ts';
import type { ChatPlatform, PlatformCall, PlatformSettings, SetupWanted } from '../../platform.ts';
import { CallRefused, fetchBytes } from '../call-json.ts';
import { apiUrl, authorization, callMattermost } from './api.ts';
import { runWebSocket } from './connection.ts';
import { lookAtPost } from './look-at-post.ts';
import { kindOf, readRequest } from './updates.ts';

const TRIGGER = 'angelia';

/** One address takes clicks, slash commands and outgoing webhooks. Posts come over the connection. */
export const mattermost: ChatPlatform = {
  name: 'mattermost',

  chatOf: ({ channel_id: channel }) => (typeof channel === 'string' ? channel : null),
  addressOf: (chat) => ({ channel_id: chat }),

  webhook: {
    besideConnection: true,
    verify,
    read: (body) => [readRequest(body)],
    look: lookAtPost,
    // Only whoever clicked sees this.
    answer: (_updates, _body, [told] = []) => ({
      status: 200,
      body: told == null ? {} : { ephemeral_text: told, skip_slack_parsing: true },
    }),
  },

  connection: {
    /** The offset is a time of the server. */
    account: ({ target }) => new URL(String(target.api_base)).origin,
    run: runWebSocket,
  },

  async fetchFile({ id }, mostBytes, context) {
    return await fetchBytes({
      what: `Mattermost refused file ${id}`,
      url: apiUrl(context, `/files/${encodeURIComponent(id)}`).href,
      headers: authorization(context),
      mostBytes,
      signal: context.signal,
    });
  },

  setup,
};

/**
 * Mattermost signs nothing. A slash command and an outgoing webhook carry the token that the server made for them, in the
 * body; a click has our own proof. So the body, whose length is bound, is parsed first.
 */
function verify({ headers, body }: SignedRequest, { chat, target }: PlatformSettings): boolean {
  let payload: unknown;
  try {
    payload = readPayload(headers, body);
  } catch {
    return false; // nothing that has a token
  }
  const said = (payload ?? {}) as Readonly<Record<string, unknown>>;
  switch (kindOf(payload)) {
    case 'click': {
      const { data, proof } = said.context as Readonly<Record<string, unknown>>;
      if (typeof data !== 'string' || typeof proof !== 'string') return false;
      return isClickProof(proof, String(target.token), data);
    }
    case 'command':
      // Also in a header: `Authorization: Token <token>`.
      return isOneOf(
        said.token ?? headerOf(headers, 'authorization')?.replace(/^Token /, ''),
        chat.command_token,
      );
    case 'outgoing-webhook':
      return isOneOf(said.token, chat.outgoing_token);
  }
}

function isOneOf(given: unknown, tokens: unknown): boolean {
  if (typeof given !== 'string') return false;
  const digest = hash('sha256', given, 'buffer');
  const known = typeof tokens === 'string' ? [tokens] : Array.isArray(tokens) ? tokens.map(String) : [];
  return known.some((token) => timingSafeEqual(hash('sha256', token, 'buffer'), digest));
}

interface Command {
  readonly id: string;
  readonly trigger: string;
  readonly token: string;
}

/** Registers the slash command in the teams of the bot, or says how to do it by hand: most bots may not. */
async function setup({ commands, webhookUrl }: SetupWanted, context: PlatformCall) {
  const { chat, target } = context.settings;
  const todo = [
    'Add the bot to the team and to the channels where people speak to it.',
    ...(chat.receive === 'webhook' && webhookUrl !== null
      ? [
          `Under Integrations, Outgoing Webhooks, add one with the callback ${webhookUrl}. Set \`outgoing_token\` of this chat to its token.`,
        ]
      : []),
  ];
  if (webhookUrl === null) {
    return {
      done: [],
      todo: [
        ...todo,
        'Buttons and the slash command call Angelia. For them, set `public_url` in the config and run this command again.',
      ],
    };
  }
  const wanted = {
    trigger: TRIGGER,
    method: 'P',
    url: webhookUrl,
    display_name: 'Angelia',
    description: 'Commands about the sessions of this channel',
    auto_complete: true,
    auto_complete_desc: 'Commands about the sessions of this channel',
    auto_complete_hint: `[${commands.map(({ name }) => name).join('|')}]`,
  };
  const inside = `If the server refuses to call ${new URL(webhookUrl).hostname}, name it in AllowedUntrustedInternalConnections.`;
  try {
    const teams = await callMattermost<readonly { readonly id: string; readonly name: string }[]>(
      'GET',
      '/users/me/teams',
      context,
    );
    const registered = await Promise.all(
      teams.map(async (team) => ({ team: team.name, token: await register(team.id, wanted, context) })),
    );
    return {
      done: registered.map(({ team }) => `Team ${team} has the slash command /${TRIGGER}.`),
      todo: [
        ...todo,
        'Set `command_token` of this chat to what stands below, one token for each team.',
        inside,
      ],
      paste: { what: 'command_token', text: registered.map(({ token }) => token).join('\n') },
    };
  } catch (error) {
    if (!(error instanceof CallRefused) || (error.status !== 403 && error.status !== 501)) throw error;
    return {
      done: [],
      todo: [
        ...todo,
        `The bot may not add slash commands at ${new URL(String(target.api_base)).origin}. Under Integrations, Slash Commands, add one: trigger ${TRIGGER}, method POST, URL ${webhookUrl}. Set \`command_token\` of this chat to its token.`,
        inside,
      ],
    };
  }
}

/** Returns the token of the command. */
async function register(
  teamId: string,
  wanted: Readonly<Record<string, unknown>>,
  context: PlatformCall,
): Promise<string> {
  const present = await callMattermost<readonly Command[]>(
    'GET',
    `/commands?team_id=${teamId}&custom_only=true`,
    context,
  );
  const old = present.find(({ trigger }) => trigger === TRIGGER);
  const body = { ...wanted, team_id: teamId };
  const { token } =
    old === undefined
      ? await callMattermost<Command>('POST', '/commands', context, body)
      : await callMattermost<Command>('PUT', `/commands/${old.id}`, context, { ...old, ...body });
  return token;
}
