import { createHmac } from 'node:crypto';

/** Updates as Slack documents them (docs.slack.dev/apis/events-api, /reference/interaction-payloads, slash commands). */

export const SLACK_TEAM = 'T0123456789';
export const SLACK_APP = 'A0123456789';
/** The user that the bot is. */
export const SLACK_BOT = 'U0ANGELIA01';

let made = 0;
const next = (): number => {
  made += 1;
  return made;
};

/** The id of a message that is written now. */
export function slackTs(): string {
  return `${Math.floor(Date.now() / 1000)}.${String(next()).padStart(6, '0')}`;
}

/** An event in its envelope. A repeat of it has the same `event_id`: send the same object again. */
export function slackEvent(event: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return {
    token: 'verification-token',
    team_id: SLACK_TEAM,
    context_team_id: SLACK_TEAM,
    context_enterprise_id: null,
    api_app_id: SLACK_APP,
    event,
    type: 'event_callback',
    event_id: `Ev${String(next()).padStart(9, '0')}`,
    event_time: Math.floor(Date.now() / 1000),
    authorizations: [
      {
        enterprise_id: null,
        team_id: SLACK_TEAM,
        user_id: SLACK_BOT,
        is_bot: true,
        is_enterprise_install: false,
      },
    ],
    is_ext_shared_channel: false,
    event_context: '4-eyJldCI6Im1lc3NhZ2UifQ',
  };
}

export interface SlackSaid {
  readonly channel: string;
  readonly user: string;
  readonly text: string;
  readonly ts?: string;
  readonly thread_ts?: string;
}

/** What somebody wrote. `more` adds what special messages have: `subtype`, `bot_id`, `files`. */
export function slackMessage(said: SlackSaid, more: Readonly<Record<string, unknown>> = {}) {
  const ts = said.ts ?? slackTs();
  return slackEvent({
    user: said.user,
    type: 'message',
    ts,
    client_msg_id: `7e605650-8b39-4f61-99c5-${String(next()).padStart(12, '0')}`,
    text: said.text,
    team: SLACK_TEAM,
    ...(said.thread_ts === undefined ? {} : { thread_ts: said.thread_ts, parent_user_id: SLACK_BOT }),
    blocks: [{ type: 'rich_text', block_id: 'b', elements: [] }],
    channel: said.channel,
    event_ts: ts,
    channel_type: said.channel.startsWith('D') ? 'im' : 'channel',
    ...more,
  });
}

/** A click on a button of a message of ours. */
export function slackClick(click: {
  readonly channel: string;
  readonly user: string;
  readonly ts: string;
  readonly thread_ts?: string | null;
  readonly value: string;
}): Record<string, unknown> {
  const { channel, user, ts, value } = click;
  const thread = click.thread_ts == null ? {} : { thread_ts: click.thread_ts };
  return {
    type: 'block_actions',
    user: { id: user, username: user.toLowerCase(), name: user.toLowerCase(), team_id: SLACK_TEAM },
    api_app_id: SLACK_APP,
    token: 'verification-token',
    container: { type: 'message', message_ts: ts, channel_id: channel, is_ephemeral: false, ...thread },
    trigger_id: `12321423423.333649436676.${String(next()).padStart(8, '0')}`,
    team: { id: SLACK_TEAM, domain: 'example' },
    enterprise: null,
    is_enterprise_install: false,
    channel: { id: channel, name: 'general' },
    message: { type: 'message', user: SLACK_BOT, ts, bot_id: 'B0ANGELIA01', text: 'a question', ...thread },
    state: { values: {} },
    response_url: 'https://hooks.slack.com/actions/T0123456789/1/x',
    actions: [
      {
        action_id: 'angelia-0',
        block_id: 'b',
        text: { type: 'plain_text', text: 'yes', emoji: false },
        value,
        type: 'button',
        action_ts: `${Math.floor(Date.now() / 1000)}.000001`,
      },
    ],
  };
}

export function slackCommand(command: {
  readonly channel: string;
  readonly user: string;
  readonly text: string;
}): Record<string, string> {
  return {
    token: 'verification-token',
    team_id: SLACK_TEAM,
    team_domain: 'example',
    channel_id: command.channel,
    channel_name: command.channel.startsWith('D') ? 'directmessage' : 'general',
    user_id: command.user,
    user_name: command.user.toLowerCase(),
    command: '/angelia',
    text: command.text,
    api_app_id: SLACK_APP,
    is_enterprise_install: 'false',
    response_url: 'https://hooks.slack.com/commands/T0123456789/1/x',
    trigger_id: `13345224609.738474920.${String(next()).padStart(8, '0')}`,
  };
}

/** The request in which Slack brings an update to a webhook: events as JSON, the others as forms. */
export function slackRequest(
  update: Readonly<Record<string, unknown>>,
  signingSecret: string,
  atSeconds = Math.floor(Date.now() / 1000),
): { readonly headers: Record<string, string>; readonly body: string } {
  const isForm = typeof update.command === 'string' || update.type === 'block_actions';
  const body = !isForm
    ? JSON.stringify(update)
    : update.type === 'block_actions'
      ? new URLSearchParams({ payload: JSON.stringify(update) }).toString()
      : new URLSearchParams(update as Record<string, string>).toString();
  const signature = createHmac('sha256', signingSecret).update(`v0:${atSeconds}:${body}`).digest('hex');
  return {
    headers: {
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      'user-agent': 'Slackbot 1.0 (+https://api.slack.com/robots)',
      'x-slack-request-timestamp': String(atSeconds),
      'x-slack-signature': `v0=${signature}`,
    },
    body,
  };
}
