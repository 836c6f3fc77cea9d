import { prepareSecret } from '../../../webhooks/authenticate/scheme.ts';
import { slack as signature } from '../../../webhooks/authenticate/schemes/slack.ts';
import type { ChatPlatform, PlatformCall, PlatformSettings } from '../../platform.ts';
import { fetchBytes } from '../call-json.ts';
import { callSlack } from './api.ts';
import { slackManifest } from './manifest.ts';
import { runSocketMode } from './socket-mode.ts';
import { readUpdate } from './updates.ts';

/** One address takes events, clicks and slash commands. */
export const slack: ChatPlatform = {
  name: 'slack',

  // A name (`#general`) does not identify a chat: updates have only its id.
  chatOf: ({ channel }) => (typeof channel === 'string' && /^[CDG][A-Z0-9]+$/.test(channel) ? channel : null),
  addressOf: (chat) => ({ channel: chat }),

  webhook: {
    verify: (request, { chat }) =>
      secretsIn(chat.signing_secret).some((secret) => signature.verify(request, prepareSecret(secret))),
    read: (body, { nowMs }, settings) => [readUpdate(body, settings, nowMs)],
    handshake(body) {
      const { type, challenge } = (body ?? {}) as { readonly type?: unknown; readonly challenge?: unknown };
      return type === 'url_verification' && typeof challenge === 'string'
        ? { status: 200, body: { challenge } }
        : null;
    },
    // Whatever the answer to a slash command holds is shown to its sender, so it has no body.
    answer: () => ({ status: 200 }),
  },

  connection: {
    /** The id of the app, which its token names: `xapp-1-A0123456789-...`. */
    account: ({ chat }) => /^xapp-\d+-([A-Z0-9]+)-/.exec(String(chat.app_token))?.[1] ?? 'app',
    run: runSocketMode,
  },

  async acknowledge({ place, from, acknowledgement }, text, context) {
    const { thread_ts: thread } = acknowledgement;
    await callSlack(
      'chat.postEphemeral',
      {
        channel: place.chat,
        user: from.id,
        text: text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
        parse: 'none',
        ...(typeof thread === 'string' ? { thread_ts: thread } : {}),
      },
      context,
    );
  },

  async fetchFile({ id, name }, mostBytes, context) {
    const { file } = await callSlack('files.info', { file: id }, context);
    const { url_private: url } = (file ?? {}) as { readonly url_private?: unknown };
    if (typeof url !== 'string' || !URL.canParse(url)) throw new Error(`Slack has no content of ${name}`);
    return await fetchBytes({
      what: `Slack (file ${id})`,
      url: ownAddress(new URL(url), context.settings).href,
      headers: { authorization: `Bearer ${context.settings.target.bot_token}` },
      mostBytes,
      signal: context.signal,
    });
  },

  async setup(wanted, { settings }: PlatformCall) {
    const byWebhook = settings.chat.receive === 'webhook';
    if (byWebhook && wanted.webhookUrl === null) {
      return { done: [], todo: ['Set `public_url` in the config, and run this command again.'] };
    }
    return {
      done: [],
      todo: [
        'Open api.slack.com/apps, choose Create New App, From a manifest, and paste the manifest that this command prints.',
        'Install the app to the workspace. Set `targets.slack.bot_token` to its Bot User OAuth Token (xoxb-).',
        byWebhook
          ? 'Set `signing_secret` of this chat to the Signing Secret (Basic Information, App Credentials).'
          : 'Under Basic Information, App-Level Tokens, generate a token with `connections:write`. Set `app_token` of this chat to it (xapp-).',
        'Invite the bot to the channels where people speak to it: /invite @angelia.',
      ],
      paste: {
        what: 'the manifest of the app',
        text: slackManifest(byWebhook ? wanted : { ...wanted, webhookUrl: null }),
      },
    };
  },
};

function secretsIn(value: unknown): readonly string[] {
  return typeof value === 'string' ? [value] : Array.isArray(value) ? value.map(String) : [];
}

/** The token goes to Slack's own hosts only, or to the server that the operator named in `api_base`. */
function ownAddress(url: URL, { target }: PlatformSettings): URL {
  const isSlack = url.protocol === 'https:' && /(^|\.)slack\.com$/.test(url.hostname);
  if (isSlack || url.origin === new URL(String(target.api_base)).origin) return url;
  throw new Error(`Slack keeps the file elsewhere (${url.origin}), and the token is not sent there`);
}
