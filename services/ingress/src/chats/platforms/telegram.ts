import { hash, timingSafeEqual } from 'node:crypto';
import { headerOf } from '../../webhooks/authenticate/scheme.ts';
import { propertyOf } from '../../webhooks/payload/lookup.ts';
import type { ChatPlatform } from '../platform.ts';
import { botId, callTelegram, downloadFromTelegram } from './telegram-api.ts';
import { ALLOWED_UPDATES, readUpdate } from './telegram-updates.ts';

/** How long Telegram holds a request while there are no updates. Longer ones are cut by some proxies. */
const POLL_SECONDS = 25;
const BATCH = 100;
/** Above the time that Telegram takes. */
const POLL_LIMIT_MS = (POLL_SECONDS + 15) * 1000;

/** @throws Error if none has an id: nothing could be confirmed, so the same ones would be brought again at once, for ever. */
function newestOf(updates: readonly unknown[]): number {
  const ids = updates.map((update) => propertyOf(update, 'update_id')).filter(Number.isSafeInteger);
  if (ids.length === 0) throw new Error('Telegram brought updates without an update_id');
  return Math.max(...(ids as number[]));
}

/** https://core.telegram.org/bots/api#getting-updates */
export const telegram: ChatPlatform = {
  name: 'telegram',

  chatOf: ({ chat_id: chat }) => (typeof chat === 'string' || typeof chat === 'number' ? String(chat) : null),
  addressOf: (chat) => ({ chat_id: chat }),
  threadsAreRooms: true,

  webhook: {
    verify({ headers }, { chat }) {
      const given = headerOf(headers, 'x-telegram-bot-api-secret-token');
      const { webhook_secret: secret } = chat;
      if (given === null || typeof secret !== 'string') return false;
      return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secret, 'buffer'));
    },
    read: (body, { nowMs }, settings) => [readUpdate(body, settings, nowMs)],
  },

  connection: {
    account: botId,
    async run({ settings, signal, offset, take, connected }) {
      let next = offset;
      // The first call does not wait: a bot that nobody writes to is also connected, and its status says so at once.
      let wait = 0;
      while (!signal.aborted) {
        const updates = await callTelegram<unknown>(
          'getUpdates',
          {
            timeout: wait,
            limit: BATCH,
            allowed_updates: ALLOWED_UPDATES,
            ...(next === null ? {} : { offset: Number(next) }),
          },
          { settings, signal },
          POLL_LIMIT_MS,
        );
        if (!Array.isArray(updates))
          throw new Error('Telegram answered getUpdates without a list of updates');
        connected();
        wait = POLL_SECONDS;
        if (updates.length === 0) continue;
        // The next call confirms what this one brought.
        next = String(newestOf(updates) + 1);
        const nowMs = Date.now();
        await take(
          updates.map((update) => readUpdate(update, settings, nowMs)),
          next,
        );
      }
    },
  },

  async acknowledge({ acknowledgement }, text, context) {
    // "0-200 characters"
    await callTelegram(
      'answerCallbackQuery',
      { ...acknowledgement, text: text.slice(0, 200).toWellFormed() },
      context,
    );
  },

  fetchFile: ({ id }, mostBytes, context) => downloadFromTelegram(id, mostBytes, context),

  async setup({ commands, webhookUrl }, context) {
    await callTelegram(
      'setMyCommands',
      { commands: commands.map(({ name, description }) => ({ command: name, description })) },
      context,
    );
    const done = [`Telegram shows ${commands.length} commands in the menu of the bot.`];
    const { receive, webhook_secret: secret } = context.settings.chat;
    if (receive === 'connection') {
      await callTelegram('deleteWebhook', {}, context);
      return { done: [...done, 'No webhook is set, so getUpdates works.'], todo: [] };
    }
    if (webhookUrl === null) {
      return { done, todo: ['Set `public_url` in the config, and run this command again.'] };
    }
    await callTelegram(
      'setWebhook',
      { url: webhookUrl, secret_token: secret, allowed_updates: ALLOWED_UPDATES },
      context,
    );
    return { done: [...done, `Telegram sends updates to ${webhookUrl}.`], todo: [] };
  },
};
