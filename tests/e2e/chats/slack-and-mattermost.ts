import {
  callTool,
  eventually,
  type MattermostStandIn,
  type ModelServer,
  SLACK_BOT,
  type SlackStandIn,
  say,
  slackClick,
  slackMessage,
  slackTs,
  startMattermost,
  startModelServer,
  startSlack,
} from '@angelia/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addToStack, modelAt } from '../shared-stack.ts';

const ANN = 'U0000000ANN';
const BEN = 'U0000000BEN';
const CHANNEL = 'C0123456789';
const TOWN = 'channel0000000000000000001';
const ANN_THERE = 'userann0000000000000000001';
const BEN_THERE = 'userben0000000000000000001';
const REDELIVERED_MS = 5_000;

/** All the way: what delivery wrote and recorded is found by what comes in. */
export function slackAndMattermost(): void {
  let slack: SlackStandIn;
  let mattermost: MattermostStandIn;
  let model: ModelServer;

  addToStack(async () => {
    [slack, mattermost, model] = await Promise.all([
      startSlack({ token: 'xoxb-secret', appToken: 'xapp-1-A0123456789-1-secret' }),
      startMattermost({ token: 'mattermost-secret' }),
      startModelServer(),
    ]);
    model.behave(async ({ input }) => say(`answer to: ${input}`));
    return {
      models: { working: modelAt(model) },
      agents: { working: { kind: 'llm', model: 'working', toolsets: ['clarify'] } },
      targets: {
        slack: { bot_token: 'xoxb-secret', api_base: `${slack.url}/api` },
        mattermost: { token: 'mattermost-secret', api_base: mattermost.url },
      },
      chats: {
        channels: {
          platform: 'slack',
          app_token: 'xapp-1-A0123456789-1-secret',
          speakers: { users: [ANN, BEN] },
          agent: 'working',
        },
        town: { platform: 'mattermost', speakers: { chats: [TOWN] }, agent: 'working' },
      },
    };
  });
  // Another subject may have killed the replica that led them.
  const connected = () => eventually(() => slack.socketMode.open > 0 && mattermost.socket.clients > 0);
  afterAll(async () => {
    expect([slack?.problems, mattermost?.problems]).toEqual([[], []]);
    await Promise.all([slack?.stop(), mattermost?.stop(), model?.stop()]);
  });

  const choices = { question: 'Which branch?', choices: ['main', 'next'] };

  describe('Slack, all the way', () => {
    beforeEach(connected);

    const inSlack = (part: string) =>
      eventually(() => slack.messages.find(({ block }) => block?.includes(part)), {
        describe: () => `${part} in ${JSON.stringify(slack.messages)}`,
      });
    /** As Slack: again, if nobody acknowledges it. A replica that lost its lead takes nothing from its connection. */
    async function send(update: Record<string, unknown>): Promise<void> {
      const sent: string[] = [];
      let sentAt = Number.NEGATIVE_INFINITY;
      await eventually(() => {
        if (slack.socketMode.open > 0 && performance.now() - sentAt > REDELIVERED_MS) {
          sent.push(slack.socketMode.send(update));
          sentAt = performance.now();
        }
        return sent.some((id) => slack.socketMode.acknowledged.includes(id));
      });
    }
    const write = (text: string, ts: string, thread?: string) =>
      slackMessage({
        channel: CHANNEL,
        user: ANN,
        text,
        ts,
        ...(thread === undefined ? {} : { thread_ts: thread }),
      });

    it('a mention is answered in its thread, what follows there is the next turn, and a repeat is none', async () => {
      const ts = slackTs();
      const first = write(`<@${SLACK_BOT}> count the sheep`, ts);
      await send(first);
      expect(await inSlack('count the sheep')).toMatchObject({ channel: CHANNEL, threadTs: ts });
      await send(write('and the goats', slackTs(), ts));
      expect(await inSlack('and the goats')).toMatchObject({ threadTs: ts });
      await send(first);
      const inputs = model.requests.map(({ input }) => input);
      expect(inputs.filter((input) => /sheep|goats/.test(input))).toHaveLength(2);
    });

    it('a click answers the question, the message says so, and the second one is told', async () => {
      model.next(callTool('clarify', choices));
      await send(write(`<@${SLACK_BOT}> merge it`, slackTs()));
      const question = await inSlack('Which branch?');
      expect(question.buttons.map(({ label }) => label)).toEqual(['main', 'next']);
      // Both were made while the buttons were there.
      const [first = {}, second = {}] = [[ANN, 1] as const, [BEN, 0] as const].map(([user, index]) =>
        slackClick({
          channel: CHANNEL,
          user,
          ts: question.ts,
          thread_ts: question.threadTs,
          value: question.buttons[index]?.value ?? '',
        }),
      );
      await send(first);
      await send(second);
      await eventually(() => question.buttons.length === 0);
      expect(question.block).toMatch(/Answered.*next/s);
      await eventually(() =>
        slack.ephemerals.some(({ user, text }) => user === BEN && text.includes('next')),
      );
      await inSlack('merge it');
    });
  });

  describe('Mattermost, all the way', () => {
    beforeEach(connected);

    const inTown = (part: string) =>
      eventually(
        () => mattermost.posts.find(({ message, userId }) => userId !== ANN_THERE && message.includes(part)),
        { describe: () => `${part} in ${JSON.stringify(mattermost.posts)}` },
      );
    const write = (text: string, rootId = '') =>
      mattermost.say({ channelId: TOWN, userId: ANN_THERE, text, rootId }).id;

    it('a mention is answered in its thread, and what follows there is the next turn', async () => {
      const root = write('@angelia count the cows');
      expect(await inTown('count the cows')).toMatchObject({ channelId: TOWN, rootId: root });
      write('and the hens', root);
      expect(await inTown('and the hens')).toMatchObject({ rootId: root });
    });

    it('a click answers the question, the post says so, and the second one is told', async () => {
      model.next(callTool('clarify', choices));
      write('@angelia ship it');
      const question = await inTown('Which branch?');
      expect(mattermost.buttonsOf(question.id)).toEqual(['main', 'next']);
      const clicks = await Promise.all([
        mattermost.click(question.id, 'next', ANN_THERE),
        mattermost.click(question.id, 'next', BEN_THERE),
      ]);
      const told = clicks.map(({ body }) => (body as { ephemeral_text?: string }).ephemeral_text);
      expect(told.toSorted()).toEqual([
        expect.stringMatching(/^Already answered by/),
        expect.stringMatching(/^You chose: next/),
      ]);
      await eventually(() => mattermost.buttonsOf(question.id).length === 0);
      expect(question.message).toMatch(/Answered.*next/s);
      await inTown('ship it');
    });
  });
}
