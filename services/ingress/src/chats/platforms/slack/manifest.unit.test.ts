import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { commandMenu } from '../../take/commands/commands.ts';
import { slackManifest } from './manifest.ts';

/** What Slack takes (https://docs.slack.dev/reference/app-manifest). It refuses keys that it does not know. */
const address = z.url({ protocol: /^https$/ });
const manifest = z.strictObject({
  display_information: z.strictObject({ name: z.string().max(35), description: z.string().max(140) }),
  features: z.strictObject({
    app_home: z.strictObject({
      home_tab_enabled: z.boolean(),
      messages_tab_enabled: z.boolean(),
      messages_tab_read_only_enabled: z.boolean(),
    }),
    bot_user: z.strictObject({
      display_name: z.string().regex(/^[a-z0-9._-]{1,80}$/),
      always_online: z.boolean(),
    }),
    slash_commands: z
      .array(
        z.strictObject({
          command: z.string().regex(/^\/[a-z0-9_-]{1,31}$/),
          url: address.optional(),
          description: z.string().min(1).max(2_000),
          usage_hint: z.string().max(1_000),
          should_escape: z.boolean(),
        }),
      )
      .max(50),
  }),
  oauth_config: z.strictObject({
    scopes: z.strictObject({ bot: z.array(z.string().regex(/^[a-z_]+(:[a-z]+)?$/)).max(255) }),
  }),
  settings: z.strictObject({
    event_subscriptions: z.strictObject({
      request_url: address.optional(),
      bot_events: z.array(z.string()).max(100),
    }),
    interactivity: z.strictObject({ is_enabled: z.literal(true), request_url: address.optional() }),
    org_deploy_enabled: z.boolean(),
    socket_mode_enabled: z.boolean(),
    token_rotation_enabled: z.boolean(),
  }),
});

/** The scope that each event needs (its page under https://docs.slack.dev/reference/events). */
const SCOPE_OF: Readonly<Record<string, string>> = {
  app_mention: 'app_mentions:read',
  'message.channels': 'channels:history',
  'message.groups': 'groups:history',
  'message.im': 'im:history',
  'message.mpim': 'mpim:history',
};

describe.each([
  ['Socket Mode', null],
  ['a webhook', 'https://angelia.example.com/chats/slack/team'],
])('the manifest with %s', (_, webhookUrl) => {
  const read = () => manifest.parse(JSON.parse(slackManifest({ commands: commandMenu(), webhookUrl })));

  it('can be pasted: it has nothing that Slack does not know or finds too long', () => {
    expect(read).not.toThrow();
  });

  it('has the scope of each event and of the slash command', () => {
    const { oauth_config: oauth, settings } = read();
    const needed = settings.event_subscriptions.bot_events.map((event) => SCOPE_OF[event]);
    expect(oauth.scopes.bot).toEqual(expect.arrayContaining([...needed, 'commands']));
  });

  it('has the address wherever Slack needs one, and none with Socket Mode', () => {
    const { features, settings } = read();
    const addresses = [
      features.slash_commands[0]?.url,
      settings.event_subscriptions.request_url,
      settings.interactivity.request_url,
    ];
    const wanted = webhookUrl ?? undefined;
    expect(addresses).toEqual([wanted, wanted, wanted]);
    expect(settings.socket_mode_enabled).toBe(webhookUrl === null);
  });
});
