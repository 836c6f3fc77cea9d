import { createHmac, timingSafeEqual } from 'node:crypto';
import { headerOf } from '../../webhooks/authenticate/scheme.ts';
import type { ChatPlatform } from '../platform.ts';
import { readEvent } from './github-events.ts';

/**
 * Comments on issues and pull requests. A comment that mentions the bot, or begins with a command, speaks to the session that
 * last wrote there. https://docs.github.com/en/webhooks
 */
export const github: ChatPlatform = {
  name: 'github_comment',

  chatOf: ({ repo, pr_number, issue_number }) => {
    const number = pr_number ?? issue_number;
    return typeof repo === 'string' && number !== undefined ? `${repo}#${String(number)}` : null;
  },
  addressOf: (chat) => ({ repo: repoOf(chat), pr_number: numberOf(chat) }),
  otherAddressOf: (chat) => ({ repo: repoOf(chat), issue_number: numberOf(chat) }),
  threadsAreRooms: true,
  openToAll: true,

  webhook: {
    verify({ headers, body }, { chat }) {
      const [, hex] = /^sha256=([0-9a-f]{64})$/.exec(headerOf(headers, 'x-hub-signature-256') ?? '') ?? [];
      if (hex === undefined || typeof chat.webhook_secret !== 'string') return false;
      const expected = createHmac('sha256', chat.webhook_secret).update(body).digest();
      return timingSafeEqual(Buffer.from(hex, 'hex'), expected);
    },
    read: (body, { headers, nowMs }, settings) => [
      readEvent(headerOf(headers, 'x-github-event') ?? '', body, settings, nowMs),
    ],
  },

  setup: async ({ webhookUrl }) => ({
    done: [],
    todo: [
      webhookUrl === null
        ? 'Set `public_url` in the config, and run this command again.'
        : `In the settings of the repository or organisation, add a webhook to ${webhookUrl}: content type application/json, the secret of this chat, and the events "Issue comments" and "Pull request review comments".`,
    ],
  }),
};

function repoOf(chat: string): string {
  return chat.slice(0, chat.lastIndexOf('#'));
}

function numberOf(chat: string): string {
  return chat.slice(chat.lastIndexOf('#') + 1);
}
