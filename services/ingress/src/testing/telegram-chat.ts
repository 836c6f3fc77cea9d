import { eventually, startTelegram, type TelegramStandIn } from '@angelia/testkit';
import type { TestIngress } from './ingress.ts';

export const TELEGRAM_TOKEN = '4711:test-bot-token';
export const TELEGRAM_SECRET = 'a-webhook-secret-of-telegram';

export function startTestTelegram(): Promise<TelegramStandIn> {
  return startTelegram({ token: TELEGRAM_TOKEN });
}

/** A config with the chat `home`. */
export function telegramConfig(telegram: TelegramStandIn, chat: Record<string, unknown> = {}) {
  return {
    models: { demo: { provider: 'builtin', model: 'echo' } },
    agents: { default: { kind: 'llm', model: 'demo' } },
    targets: { telegram: { bot_token: TELEGRAM_TOKEN, api_base: telegram.url } },
    chats: {
      home: {
        platform: 'telegram',
        receive: 'webhook',
        webhook_secret: TELEGRAM_SECRET,
        bot_name: 'stand_in_bot',
        ...chat,
      },
    },
  };
}

export async function sendUpdatesTo(telegram: TelegramStandIn, { baseUrl }: TestIngress): Promise<void> {
  await telegram.inbox.call('setWebhook', {
    url: `${baseUrl}/chats/telegram/home`,
    secret_token: TELEGRAM_SECRET,
  });
}

/** The session that an update made or reached, once it was taken. Null: it started nothing. */
export async function takenUpdate(
  telegram: TelegramStandIn,
  { log }: Pick<TestIngress, 'log'>,
  update: { readonly update_id: number },
): Promise<string | null> {
  await eventually(() => !telegram.inbox.unconfirmed().some(({ update_id: id }) => id === update.update_id));
  return log.streams.findByKey(`chat:telegram:4711:${update.update_id}`);
}
