import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { startStack } from '@angelia/local';
import { pause } from '@angelia/waiting';
import { stringify } from 'yaml';
import { Client, signedPost } from './load.ts';
import { quantile } from './quantile.ts';
import type { Figure } from './report.ts';

const SECRET = 'bench-secret';
const CHAT_SECRET = 'bench-secret-of-the-chat';
const CHATS = 1_000;
const RATE = 50;

interface ChatsOptions {
  readonly home: string;
  readonly quick: boolean;
  readonly say: (line: string) => void;
}

/**
 * 1,000 chats, 50 messages a second: from the POST of an update to `run.started`, beside the same for webhooks in the same run.
 * Both clocks are those of this machine.
 */
export async function benchChats({ home, quick, say }: ChatsOptions): Promise<Figure[]> {
  const telegram = await startBareTelegram();
  const config = join(home, 'angelia.yaml');
  await writeFile(
    config,
    stringify({
      secret: SECRET,
      limits: { rate_limit: 0 },
      models: { demo: { provider: 'builtin', model: 'echo' } },
      agents: { default: { model: 'demo' } },
      targets: { telegram: { bot_token: '1:bench', api_base: telegram.url } },
      routes: { bench: { prompt: '{pull_request.title}' } },
      chats: {
        home: {
          platform: 'telegram',
          receive: 'webhook',
          webhook_secret: CHAT_SECRET,
          speakers: { anyone: true },
        },
      },
    }),
    { mode: 0o600 },
  );
  const stack = await startStack({ dataDir: join(home, 'data'), config, port: 0, durable: true });
  const log = openEventLog({ url: stack.databaseUrl, instance: 'bench', holder: 'bench#1' });
  const client = new Client(stack.url, 16);
  const total = quick ? 5 * RATE : CHATS;
  try {
    say(`${CHATS} chats, ${RATE} messages/s, and as many webhooks`);
    const byWebhook = async (run: string) =>
      paced(total, async (n) => {
        const id = `claim-${run}-${n}`;
        await client.post(signedPost(SECRET, id));
        return log.streams.findByKey(`webhook:bench:${id}`);
      });
    const byChat = async (first: number) =>
      paced(total, async (n) => {
        const update = first + n;
        const response = await fetch(`${stack.url}/chats/telegram/home`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'x-telegram-bot-api-secret-token': CHAT_SECRET,
          },
          body: JSON.stringify(updateOf(update, 1 + (n % CHATS))),
        });
        if (response.status !== 200) throw new Error(`an update was answered ${response.status}`);
        return log.streams.findByKey(`chat:telegram:1:${update}`);
      });
    // Warm: connections, compiled code.
    await byWebhook('warm');
    await byChat(1_000_000);
    const webhook = await claims(log, await byWebhook('measured'));
    const chat = await claims(log, await byChat(2_000_000));
    return [
      {
        name: 'update of a chat to claim, p50, of a webhook',
        value: quantile(chat, 0.5) / quantile(webhook, 0.5),
        unit: '',
        floor: { name: 'webhook to claim, ms', value: quantile(webhook, 0.5) },
        goal: { value: 2, good: 'at most' },
      },
      { name: 'update of a chat to claim, p50', value: quantile(chat, 0.5), unit: 'ms' },
      { name: 'update of a chat to claim, p99', value: quantile(chat, 0.99), unit: 'ms' },
      {
        name: 'messages lost',
        value: total - chat.length,
        unit: '',
        goal: { value: 0, good: 'at most' },
      },
    ];
  } finally {
    await client.close();
    await log.close();
    await stack.stop();
    telegram.stop();
  }
}

interface Sent {
  readonly at: number;
  readonly session: string | null;
}

async function paced(total: number, send: (n: number) => Promise<string | null>): Promise<Sent[]> {
  const begun = performance.now();
  const sent: Promise<Sent>[] = [];
  for (let n = 0; n < total; n += 1) {
    const wait = begun + (n * 1000) / RATE - performance.now();
    if (wait > 0) await pause(wait);
    const at = Date.now();
    sent.push(send(n).then((session) => ({ at, session })));
  }
  return Promise.all(sent);
}

const GIVE_UP_MS = 60_000;

/** Milliseconds from each POST to the first `run.started` of its session after it. */
async function claims(log: EventLog, sent: readonly Sent[]): Promise<number[]> {
  const giveUp = performance.now() + GIVE_UP_MS;
  const found: number[] = [];
  for (const { at, session } of sent) {
    if (session === null) continue;
    for (;;) {
      const events = await log.streams.read(session);
      const claim = events.find(({ type, recordedAt }) => type === 'run.started' && recordedAt >= at);
      if (claim !== undefined) found.push(claim.recordedAt - at);
      if (claim !== undefined || performance.now() > giveUp) break;
      await pause(50);
    }
  }
  return found;
}

function updateOf(update: number, chat: number): object {
  const from = { id: chat, is_bot: false, first_name: 'Bench' };
  const date = Math.floor(Date.now() / 1000);
  return {
    update_id: update,
    message: {
      message_id: update,
      date,
      chat: { id: chat, type: 'private' },
      from,
      text: `message ${update}`,
    },
  };
}

/** Takes every message at once. */
async function startBareTelegram(): Promise<{ readonly url: string; stop(): void }> {
  let message = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      message += 1;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ ok: true, result: { message_id: message, chat: { id: 1 } } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
