import { startDiscord, startSlack, startTelegram } from '@angelia/testkit';
import { discordTarget } from '../platforms/discord.ts';
import { slackTarget } from '../platforms/slack.ts';
import { telegramTarget } from '../platforms/telegram.ts';
import { BUSY_SECONDS, type TargetHarness } from './contract.ts';
import { behaviourOf } from './harnesses.ts';

/** Telegram, Slack and Discord, each with its stand-in: how they refuse, and what people see. */

export async function telegramHarness(): Promise<TargetHarness> {
  const token = '123456:telegram-contract-credential';
  const telegram = await startTelegram({ token });
  const error = (code: number, description: string, more = {}) => ({
    status: code,
    body: { ok: false, error_code: code, description, ...more },
  });
  const answers = {
    gone: error(400, 'Bad Request: chat not found'),
    'credential-refused': error(401, 'Unauthorized'),
    busy: error(429, `Too Many Requests: retry after ${BUSY_SECONDS}`, {
      parameters: { retry_after: BUSY_SECONDS },
    }),
    down: error(500, 'Internal Server Error'),
  };
  return {
    target: telegramTarget(),
    settings: { bot_token: token, api_base: telegram.url },
    to: { chat_id: '-1001', message_thread_id: '42' },
    credentials: [token, 'telegram-contract-credential'],
    saysHowLong: true,
    shown: () => telegram.messages.map(({ shown }) => shown),
    next: (...troubles) => telegram.next(...troubles.map((trouble) => behaviourOf(trouble, answers))),
    problems: () => telegram.problems,
    stop: telegram.stop,
  };
}

export async function slackHarness(): Promise<TargetHarness> {
  const token = 'xoxb-slack-contract-credential';
  const slack = await startSlack({ token });
  const error = (code: string) => ({ status: 200, body: { ok: false, error: code } });
  const answers = {
    gone: error('channel_not_found'),
    'credential-refused': error('invalid_auth'),
    busy: {
      status: 429,
      body: { ok: false, error: 'ratelimited' },
      headers: { 'retry-after': `${BUSY_SECONDS}` },
    },
    down: { status: 503, body: '<html>We are on it</html>' },
  };
  return {
    target: slackTarget(),
    settings: { bot_token: token, api_base: `${slack.url}/api` },
    to: { channel: 'C0123456789' },
    credentials: [token],
    saysHowLong: true,
    shown: () => slack.messages.map(({ block, text }) => unescaped(block ?? text)),
    next: (...troubles) => slack.next(...troubles.map((trouble) => behaviourOf(trouble, answers))),
    problems: () => slack.problems,
    stop: slack.stop,
  };
}

export async function discordHarness(): Promise<TargetHarness> {
  const token = 'discord-contract-credential';
  const discord = await startDiscord({ token });
  const answers = {
    gone: { status: 404, body: { code: 10_003, message: 'Unknown Channel' } },
    'credential-refused': { status: 401, body: { code: 0, message: '401: Unauthorized' } },
    busy: {
      status: 429,
      body: { message: 'You are being rate limited.', retry_after: BUSY_SECONDS - 0.5, global: false },
      headers: { 'retry-after': `${BUSY_SECONDS}` },
    },
    down: { status: 503, body: '' },
  };
  return {
    target: discordTarget(),
    settings: { bot_token: token, api_base: `${discord.url}/api/v10` },
    to: { channel_id: '1001' },
    credentials: [token],
    saysHowLong: true,
    shown: () => discord.messages.map(({ content }) => content),
    next: (...troubles) => discord.next(...troubles.map((trouble) => behaviourOf(trouble, answers))),
    problems: () => discord.problems,
    stop: discord.stop,
  };
}

function unescaped(mrkdwn: string): string {
  return mrkdwn.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
