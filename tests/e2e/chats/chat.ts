import {
  say as answerWith,
  eventually,
  type ModelServer,
  startModelServer,
  startTelegram,
  type TelegramStandIn,
} from '@angelia/testkit';
import { afterAll, beforeEach, expect } from '@jest/globals';
import { addToStack, modelAt, stack } from '../shared-stack.ts';

// The chat `home` on the stand-in of Telegram. Everybody may speak. Each test has chats of its own.

export const TOKEN = '4711:test-bot-token';
export const SECRET = 'a-webhook-secret-of-telegram';

export let telegram: TelegramStandIn;
export let model: ModelServer;
let nextChat = 50_000;

export function newChat(): number {
  nextChat += 1;
  return nextChat;
}

export function withTelegram(): void {
  addToStack(async () => {
    [telegram, model] = await Promise.all([startTelegram({ token: TOKEN }), startModelServer()]);
    return {
      models: { chatting: modelAt(model) },
      agents: {
        chatting: { kind: 'llm', model: 'chatting', toolsets: ['terminal'], status_interval_seconds: 0.5 },
      },
      targets: { telegram: { bot_token: TOKEN, api_base: telegram.url } },
      chats: {
        home: {
          platform: 'telegram',
          receive: 'connection',
          webhook_secret: SECRET,
          speakers: { anyone: true },
          agent: 'chatting',
          files: { take: true, deliver: true, types: ['text/plain', 'text/csv', 'application/pdf'] },
        },
      },
    };
  });
  beforeEach(() => model.behave(({ input }) => answerWith(`answer to: ${input}`)));
  afterAll(async () => {
    expect(telegram?.problems).toEqual([]);
    await telegram?.stop();
    await model?.stop();
  });
}

interface Listed {
  readonly id: string;
  readonly title: string;
  readonly status: string;
}

/** The sessions of a conversation by their title, the newest first; a moment behind the log. */
export async function titled(title: string): Promise<Listed[]> {
  const { items } = await stack.adminGet<{ items: Listed[] }>(`/v1/sessions?q=${encodeURIComponent(title)}`);
  return items.filter((session) => session.title === title);
}

/** The session that somebody's first words opened. */
export const sessionTitled = (title: string): Promise<Listed> =>
  eventually(async () => (await titled(title))[0], { describe: () => `a session "${title}"` });

/** Something that people read in the chat. */
export const shown = (chat: number, part: string): Promise<string> =>
  eventually(() => telegram.shownIn(String(chat)).find((text) => text.includes(part)), {
    describe: () => `${part} in ${JSON.stringify(telegram.shownIn(String(chat)))}`,
  });

/** What people read besides "Still working": on a busy machine a turn may take so long that this is said as well. */
export const answersIn = (chat: number): string[] =>
  telegram.shownIn(String(chat)).filter((text) => !text.startsWith('Still working'));

/** Answers that wait until `open`, for inputs that contain the word. */
export function holdAnswersTo(word: string): () => void {
  const gate = Promise.withResolvers<void>();
  model.behave(async ({ input }) => {
    if (input.includes(word)) await gate.promise;
    return answerWith(`answer to: ${input}`);
  });
  return gate.resolve;
}

export const turnsOf = async (id: string): Promise<string[]> =>
  (await stack.events(id)).flatMap(({ type, data }) => (type === 'turn.requested' ? String(data.input) : []));
