import {
  callTool,
  type DiscordStandIn,
  eventually,
  type MatrixStandIn,
  type ModelServer,
  say,
  startDiscord,
  startMatrix,
  startModelServer,
} from '@angelia/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addToStack, modelAt } from '../shared-stack.ts';

// The whole way there and back, by Discord's gateway and by a homeserver's sync.

/** The first part is the bot's id. */
const TOKEN = 'MQ.discord-secret-of-the-stack';
const CHANNEL = '1001';
const ROOM = '!ops:hs.test';
const ANNA = { id: '42', name: 'Anna' };

export function discordAndMatrix(): void {
  let discord: DiscordStandIn;
  let matrix: MatrixStandIn;
  let model: ModelServer;

  addToStack(async () => {
    [discord, matrix, model] = await Promise.all([
      startDiscord({ token: TOKEN }),
      startMatrix({ token: 'syt_secret_of_the_stack' }),
      startModelServer(),
    ]);
    matrix.room(ROOM, ['@anna:hs.test', '@ben:hs.test']);
    // Asks where to, and then says what was chosen.
    model.behave(({ body }) => {
      const { messages } = body as unknown as { messages: { role: string; content: unknown }[] };
      const last = messages.at(-1);
      if (last?.role !== 'tool') {
        return callTool('clarify', { question: 'Where to?', choices: ['Rome', 'Oslo'] });
      }
      return say(JSON.stringify(last.content).includes('Oslo') ? 'We go to Oslo' : 'We stay');
    });
    return {
      models: { travelling: modelAt(model) },
      agents: { travelling: { kind: 'llm', model: 'travelling', toolsets: ['clarify'] } },
      targets: {
        discord: { bot_token: TOKEN, api_base: `${discord.url}/api/v10` },
        matrix: { access_token: 'syt_secret_of_the_stack', api_base: matrix.url },
      },
      chats: {
        team: { platform: 'discord', speakers: { chats: [CHANNEL] }, agent: 'travelling' },
        rooms: {
          platform: 'matrix',
          user_id: matrix.user,
          speakers: { chats: [ROOM] },
          mention: false,
          agent: 'travelling',
        },
      },
    };
  });

  afterAll(async () => {
    expect([...(discord?.problems ?? []), ...(matrix?.problems ?? [])]).toEqual([]);
    await discord?.stop();
    await matrix?.stop();
    await model?.stop();
  });

  describe('Discord and Matrix', () => {
    // Another subject may have killed the replica that led them.
    beforeEach(async () => {
      await discord.gateway.ready();
      await eventually(() => matrix.requests.some(({ query }) => query.has('since')));
    });

    it('a click in Discord answers a question: the message says who chose what, and its buttons are gone', async () => {
      const mentions = [{ id: '1', name: 'angelia', bot: true }];
      discord.write({ channel: CHANNEL, from: ANNA, text: '<@1> I want to travel', mentions });
      const question = await eventually(() => discord.messages.find(({ buttons }) => buttons.length === 2));
      expect(question.content).toContain('Where to?');
      discord.click(question.id, 'Oslo', { channel: CHANNEL, from: ANNA });
      await eventually(() => discord.shownIn(CHANNEL).includes('We go to Oslo'));
      await eventually(
        () => question.buttons.length === 0 && /Anna.*Oslo|Oslo.*Anna/s.test(question.content),
        {
          describe: () => JSON.stringify(question),
        },
      );
      await eventually(() => discord.interactions[0]?.answer);
      expect(discord.interactions[0]?.answer).toMatchObject({ data: { content: 'You chose: Oslo' } });
    });

    it('a number in Matrix answers a question', async () => {
      matrix.write(ROOM, '@anna:hs.test', 'I want to travel');
      const asked = await eventually(() =>
        matrix.events.find(({ content }) => /Where to\?/.test(String(content.body))),
      );
      expect(asked.content.body).toMatch(/2\. Oslo/);
      matrix.write(ROOM, '@ben:hs.test', {
        msgtype: 'm.text',
        body: '2',
        'm.mentions': {},
        'm.relates_to': { 'm.in_reply_to': { event_id: asked.id } },
      });
      await eventually(() => matrix.events.some(({ content }) => content.body === 'We go to Oslo'));
    });
  });
}
