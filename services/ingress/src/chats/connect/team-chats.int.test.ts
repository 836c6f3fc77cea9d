import { buttonData, clickProof, messageKey, threadKey } from '@angelia/chats';
import { type RecordedEvent, sessionId } from '@angelia/contracts';
import { newEventId } from '@angelia/sessions';
import {
  createTestDatabase,
  eventually,
  type MattermostStandIn,
  SLACK_BOT,
  SLACK_TEAM,
  type SlackStandIn,
  slackClick,
  slackCommand,
  slackMessage,
  slackRequest,
  slackTs,
  startMattermost,
  startSlack,
  type TestDatabase,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';

// Slack and Mattermost, from the stand-ins into the log. A worker does what runner and delivery do.

const APP_TOKEN = 'xapp-1-A0123456789-1-secret';
const SIGNING_SECRET = 'signing-secret-of-the-app';
const ANN = 'U0000000ANN';
const BEN = 'U0000000BEN';
const STRANGER = 'U00STRANGER';
const CHANNEL = 'C0123456789';
const MATTERMOST_TOKEN = 'mattermost-secret';
const TOWN = 'channel0000000000000000001';
const ANN_THERE = 'userann0000000000000000001';
const BEN_THERE = 'userben0000000000000000001';

let database: TestDatabase;
let ingress: TestIngress;
let worker: Worker;
let slack: SlackStandIn;
let mattermost: MattermostStandIn;

const configOf = (
  receive: 'connection' | 'webhook' = 'connection',
  users: readonly string[] = [ANN, BEN],
) => ({
  models: { demo: { provider: 'builtin', model: 'echo' } },
  agents: { default: { kind: 'llm', model: 'demo' } },
  targets: {
    slack: { bot_token: 'xoxb-secret', api_base: `${slack.url}/api` },
    mattermost: { token: MATTERMOST_TOKEN, api_base: mattermost.url },
  },
  chats: {
    team: {
      ...{ platform: 'slack', receive, app_token: APP_TOKEN, signing_secret: SIGNING_SECRET },
      speakers: { users },
    },
    town: { platform: 'mattermost', command_token: 'command-token', speakers: { chats: [TOWN] } },
  },
});

/** Resolves when what is said is heard. */
async function start(): Promise<void> {
  const { connected } = slack.socketMode;
  const { greeted } = mattermost.socket;
  ingress = await startIngress({ databaseUrl: database.url, config: configOf() });
  await eventually(() => slack.socketMode.connected > connected && mattermost.socket.greeted > greeted);
}

beforeAll(async () => {
  database = await createTestDatabase();
  slack = await startSlack({ token: 'xoxb-secret', appToken: APP_TOKEN });
  mattermost = await startMattermost({ token: MATTERMOST_TOKEN });
  worker = openWorker({ databaseUrl: database.url });
  await start();
});
afterAll(async () => {
  expect([...(slack?.problems ?? []), ...(mattermost?.problems ?? [])]).toEqual([]);
  await ingress?.close();
  await worker?.close();
  await slack?.stop();
  await mattermost?.stop();
  await database?.drop();
});

const underKey = (update: string) => ingress.log.streams.findByKey(`chat:${update}`);
const eventsOf = (id: string): Promise<RecordedEvent[]> => ingress.log.streams.read(id);
const createdOf = async (id: string) => (await eventsOf(id))[0]?.data as Record<string, unknown>;
const inputsOf = async (id: string) =>
  (await eventsOf(id))
    .filter(({ type }) => type === 'turn.requested')
    .map(({ data }) => (data as { input: string }).input);
const answersIn = async (id: string) =>
  (await eventsOf(id))
    .filter(({ type }) => type === 'clarification.answered')
    .map(({ data, meta }) => ({ data, meta }));

/** As delivery, when the platform has taken a message of the session. */
async function delivered(session: string, keys: readonly string[]): Promise<void> {
  const streams = keys.map((streamId) => ({
    streamId,
    expectedVersion: 0,
    events: [
      {
        ...{ eventId: newEventId(), type: 'key.session-opened', data: { session_id: session } },
        meta: { actor: 'delivery', correlation: session },
      },
    ],
  }));
  await ingress.log.append({ streams });
}

async function asks(session: string): Promise<number> {
  await worker.asksFor(session, 'clarify', 'call-1');
  const { state } = await worker.does(session, ({ generation }) => ({
    ...{ type: 'request-clarification', generation, clarificationId: 'question-1', callId: 'call-1' },
    ...{
      question: 'Where to?',
      choices: ['Rome', 'Oslo'],
      deadline: Date.now() + 3_600_000,
      onTimeout: 'end',
    },
  }));
  return state.clarification?.output ?? 0;
}
const choice = (session: string, output: number, index: number) =>
  buttonData({ sessionId: sessionId(session), output, action: `choice-${index}` });

describe('Slack', () => {
  /** Resolves when the envelope is acknowledged: what it did is in the log. */
  async function send(update: Record<string, unknown>): Promise<void> {
    const id = slack.socketMode.send(update);
    await eventually(() => slack.socketMode.acknowledged.includes(id));
  }
  const sessionOf = (ts: string) => underKey(`slack:${SLACK_TEAM}:${CHANNEL}:${ts}`);
  async function say(text: string, more: object = {}): Promise<string> {
    const ts = slackTs();
    await send(slackMessage({ channel: CHANNEL, user: ANN, text, ts, ...more }));
    const session = await sessionOf(ts);
    if (session === null) throw new Error(`"${text}" started nothing`);
    return session;
  }
  const speak = (text: string) => say(`<@${SLACK_BOT}> ${text}`);

  it('a mention opens a thread, and what is said there needs no mention', async () => {
    const ts = slackTs();
    await send(slackMessage({ channel: CHANNEL, user: ANN, text: `<@${SLACK_BOT}> What is new?`, ts }));
    const session = (await sessionOf(ts)) ?? '';
    expect(await createdOf(session)).toMatchObject({
      route: 'chat:team',
      deliver: { target: 'slack', to: { channel: CHANNEL, thread_ts: ts } },
    });
    // Also before delivery has recorded that the answer is there.
    expect(await say('Quickly', { thread_ts: ts })).toBe(session);
    const place = { platform: 'slack', chat: CHANNEL, thread: ts } as const;
    await delivered(session, [messageKey(place, slackTs()), threadKey(place, ts)]);
    expect(await say('And now?', { thread_ts: ts })).toBe(session);
    expect(await inputsOf(session)).toHaveLength(3);
  });

  it('a reply below a message in the channel is answered in its thread', async () => {
    const old = await speak('Report');
    await worker.answers(old, 'done');
    const root = slackTs();
    const place = { platform: 'slack', chat: CHANNEL, thread: root } as const;
    await delivered(old, [messageKey(place, root), threadKey(place, root)]);
    expect(await createdOf(await say('Why?', { thread_ts: root }))).toMatchObject({
      continues: old,
      deliver: { target: 'slack', to: { channel: CHANNEL, thread_ts: root } },
    });
  });

  it('an envelope that is sent again, and a message that comes as two events, are one turn', async () => {
    const ts = slackTs();
    const text = `<@${SLACK_BOT}> once`;
    const update = slackMessage({ channel: CHANNEL, user: ANN, text, ts });
    await send(update);
    await send(update);
    await send(slackMessage({ channel: CHANNEL, user: ANN, text, ts }, { type: 'app_mention' }));
    expect(await inputsOf((await sessionOf(ts)) ?? '')).toHaveLength(1);
  });

  it('a click answers the question; the second one is told who was first, in the thread', async () => {
    const session = await speak('Travel');
    const output = await asks(session);
    const ts = slackTs();
    const click = (user: string, index: number) =>
      send(
        slackClick({
          channel: CHANNEL,
          user,
          ts,
          thread_ts: '1.000001',
          value: choice(session, output, index),
        }),
      );
    await click(ANN, 1);
    await click(BEN, 0);
    expect(await answersIn(session)).toMatchObject([
      { data: { answer: 'Oslo' }, meta: { actor: `chat:slack:${ANN}` } },
    ]);
    await eventually(() => slack.ephemerals.length === 2);
    expect(slack.ephemerals).toContainEqual({
      channel: CHANNEL,
      user: BEN,
      text: expect.stringContaining('Oslo'),
      threadTs: '1.000001',
    });
  });

  it('strangers, bots, edits and what is said to nobody start nothing', async () => {
    const said = { channel: CHANNEL, user: ANN, text: `<@${SLACK_BOT}> x` };
    const all = ['1', '2', '3', '4'].map(() => slackTs());
    const [toNobody = '', ofStranger = '', ofBot = '', edited = ''] = all;
    await send(slackMessage({ ...said, ts: toNobody, text: 'x' }));
    await send(slackMessage({ ...said, ts: ofStranger, user: STRANGER }));
    await send(slackMessage({ ...said, ts: ofBot }, { bot_id: 'B0ANGELIA01' }));
    await send(slackMessage({ ...said, ts: edited }, { subtype: 'message_changed' }));
    expect(await Promise.all(all.map(sessionOf))).toEqual([null, null, null, null]);
  });

  it('what was written while ingress was away is taken once, although Slack then sends it, too', async () => {
    const before = await speak('before');
    await ingress.close();
    const text = `<@${SLACK_BOT}> meanwhile`;
    const ts = slack.writeUnheard({ channel: CHANNEL, user: ANN, text });
    await start();
    const session = await eventually(() => sessionOf(ts));
    await send(slackMessage({ channel: CHANNEL, user: ANN, text, ts }));
    expect(await inputsOf(session)).toHaveLength(1);
    expect(await inputsOf(before)).toHaveLength(1);
  });

  it('what was refused is not taken later, when the config lets its writer speak', async () => {
    const connectedAgain = async (users?: readonly string[]) => {
      const { connected } = slack.socketMode;
      await ingress.take(configOf('connection', users));
      await eventually(() => slack.socketMode.connected > connected);
    };
    await speak('before');
    const said = { channel: CHANNEL, user: STRANGER, text: `<@${SLACK_BOT}> too early` };
    const ts = slack.writeUnheard(said);
    await send(slackMessage({ ...said, ts }));
    await connectedAgain([ANN, STRANGER]);
    // What was missed is taken before this.
    await say(`<@${SLACK_BOT}> now`, { user: STRANGER });
    expect(await sessionOf(ts)).toBeNull();
    await connectedAgain();
  });

  it('by webhook: signed, it takes a slash command once; forged, it starts nothing', async () => {
    await ingress.take(configOf('webhook'));
    const post = async (request: ReturnType<typeof slackRequest>) =>
      (await fetch(`${ingress.baseUrl}/chats/slack/team`, { method: 'POST', ...request })).status;
    const command = slackCommand({ channel: CHANNEL, user: ANN, text: 'help' });
    const key = `slack:${SLACK_TEAM}:command:${command.trigger_id}`;
    expect(await post(slackRequest(command, 'another-secret'))).toBe(401);
    expect(await underKey(key)).toBeNull();
    expect(await post(slackRequest(command, SIGNING_SECRET))).toBe(200);
    expect(await post(slackRequest(command, SIGNING_SECRET))).toBe(200);
    expect(await createdOf((await underKey(key)) ?? '')).toMatchObject({ event: 'command' });
    const { connected } = slack.socketMode;
    await ingress.take(configOf());
    await eventually(() => slack.socketMode.connected > connected);
  });
});

describe('Mattermost', () => {
  const byPost = (id: string) => eventually(() => underKey(`mattermost:${id}`));
  const say = (text: string, rootId = '') =>
    mattermost.say({ channelId: TOWN, userId: ANN_THERE, text, rootId }).id;

  it('a mention opens a thread, and what is said there needs no mention', async () => {
    const root = say('@angelia what is new?');
    const session = await byPost(root);
    expect(await createdOf(session)).toMatchObject({
      deliver: { target: 'mattermost', to: { channel_id: TOWN, root_id: root } },
    });
    const place = { platform: 'mattermost', chat: TOWN, thread: root } as const;
    await delivered(session, [threadKey(place, root)]);
    expect(await byPost(say('And now?', root))).toBe(session);
  });

  it('a click comes to the webhook beside the connection: the second one is told who was first', async () => {
    const session = await byPost(say('@angelia travel'));
    const output = await asks(session);
    let clicks = 0;
    const click = async (user: string, index: number, token = MATTERMOST_TOKEN) => {
      clicks += 1;
      const data = choice(session, output, index);
      const response = await fetch(`${ingress.baseUrl}/chats/mattermost/town`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ user_id: user, user_name: 'name', channel_id: TOWN, post_id: 'post0000000000000000000001' },
          ...{
            trigger_id: `trigger-${clicks}`,
            type: 'button',
            context: { data, proof: clickProof(token, data) },
          },
        }),
      });
      return { status: response.status, body: await response.json() };
    };
    expect(await click(BEN_THERE, 0, 'a forged token')).toMatchObject({ status: 401 });
    expect(await click(ANN_THERE, 1)).toMatchObject({
      status: 200,
      body: { ephemeral_text: 'You chose: Oslo' },
    });
    expect(await click(BEN_THERE, 0)).toMatchObject({
      status: 200,
      body: { ephemeral_text: expect.stringMatching(/Already answered by .*Oslo/) },
    });
    expect(await answersIn(session)).toMatchObject([
      { data: { answer: 'Oslo' }, meta: { actor: `chat:mattermost:${ANN_THERE}` } },
    ]);
  });

  it('what was written while ingress was away is taken once', async () => {
    const before = await byPost(say('@angelia before'));
    await ingress.close();
    const { id } = mattermost.say({
      channelId: TOWN,
      userId: ANN_THERE,
      text: '@angelia meanwhile',
      unheard: true,
    });
    await start();
    expect(await inputsOf(await byPost(id))).toHaveLength(1);
    expect(await inputsOf(before)).toHaveLength(1);
  });
});
