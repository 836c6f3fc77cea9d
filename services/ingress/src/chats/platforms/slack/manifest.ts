import { slackScopes } from '@angelia/config';
import type { SetupWanted } from '../../platform.ts';

/** One slash command for all: Slack keeps `/status` and others for itself, and a workspace has each name once. */
const SLASH_COMMAND = '/angelia';

/**
 * The app as Slack creates it from text (https://docs.slack.dev/reference/app-manifest): what it may do, what it is told
 * of, and where. `webhookUrl` null: by Socket Mode.
 */
export function slackManifest({ commands, webhookUrl }: SetupWanted): string {
  const url = webhookUrl === null ? {} : { request_url: webhookUrl };
  const manifest = {
    display_information: { name: 'Angelia', description: 'Answers of agents, and what you say to them' },
    features: {
      // Without it nobody can write to the bot directly.
      app_home: {
        home_tab_enabled: false,
        messages_tab_enabled: true,
        messages_tab_read_only_enabled: false,
      },
      bot_user: { display_name: 'angelia', always_online: true },
      slash_commands: [
        {
          command: SLASH_COMMAND,
          ...(webhookUrl === null ? {} : { url: webhookUrl }),
          description: 'Commands about the sessions of this channel',
          usage_hint: commands.map(({ name }) => name).join(' | '),
          should_escape: false,
        },
      ],
    },
    oauth_config: {
      scopes: {
        bot: slackScopes,
      },
    },
    settings: {
      event_subscriptions: {
        ...url,
        bot_events: ['app_mention', 'message.channels', 'message.groups', 'message.im', 'message.mpim'],
      },
      interactivity: { is_enabled: true, ...url },
      org_deploy_enabled: false,
      socket_mode_enabled: webhookUrl === null,
      token_rotation_enabled: false,
    },
  };
  return JSON.stringify(manifest, null, 2);
}
