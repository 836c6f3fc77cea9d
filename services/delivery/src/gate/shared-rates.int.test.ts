import type { DeliveryTarget } from '@angelia/contracts';
import { eventually, startTelegram, type TelegramStandIn } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DeliveryDispatcher } from '../plan/delivery-dispatcher.ts';
import type { Target } from '../targets/target.ts';
import { type DeliveryFixture, openDeliveryFixture } from '../testing/delivery-fixture.ts';

// Two replicas of delivery keep the rates of a platform together, as counted at the platform.

const TOKEN = '123456:telegram-token';
/** Stands for Telegram's one message per second and chat, to keep the test short. */
const PERIOD_MS = 300;
/**
 * Counted from before the first turn, so a busy machine can only make it longer. A timer may fire a little early. Without
 * turns, or with separate turns in each replica, everything would take at most half of it.
 */
const MIN_MS = PERIOD_MS * 0.95;

let fixture: DeliveryFixture;
let telegram: TelegramStandIn;
let replicas: DeliveryDispatcher[];

beforeAll(async () => {
  fixture = await openDeliveryFixture();
  telegram = await startTelegram({ token: TOKEN });
  replicas = ['delivery', 'delivery-2'].map((name) => sender(name));
});
afterAll(async () => {
  await fixture?.closeSenders();
  await telegram?.stop();
  await fixture?.close();
});

function sender(name: string): DeliveryDispatcher {
  const limits: Target['limits'] = {
    perChat: { sends: 1, seconds: PERIOD_MS / 1000 },
    overall: { sends: 4, seconds: PERIOD_MS / 1000 },
  };
  return fixture.sender({
    name,
    delivery: { request_timeout_seconds: 10 },
    settings: { telegram: { bot_token: TOKEN, api_base: telegram.url } },
    targets: (targets) => ({
      ...targets,
      find: (target) => {
        const ready = targets.find(target);
        return { ...ready, target: { ...ready.target, limits } };
      },
    }),
  });
}

const to = (chat: string): { deliver: DeliveryTarget } => ({
  deliver: { target: 'telegram', to: { chat_id: chat }, untrusted_address: false },
});

/** As hints do: each session goes to one of the replicas. Returns when each message arrived, from the first hint on. */
async function deliver(chats: readonly string[]): Promise<number[]> {
  const from = telegram.messages.length;
  const ids = await Promise.all(chats.map((chat, n) => fixture.answered(`answer ${n}`, to(chat))));
  const since = performance.now();
  await Promise.all(ids.map((id, n) => replicas[n % replicas.length]?.handle({ stream_id: id, version: 0 })));
  await eventually(fixture.settled(...ids));
  for (const id of ids) {
    expect(await fixture.types(id)).toEqual(['delivery.attempted', 'delivery.succeeded']);
  }
  return telegram.messages.slice(from).map(({ at }) => at - since);
}

describe('two replicas of delivery', () => {
  it('keep the rate of one chat together', async () => {
    const times = await deliver(Array.from({ length: 8 }, () => '7'));
    expect(times).toHaveLength(8);
    expect(Math.max(...times)).toBeGreaterThan(7 * MIN_MS);
  });

  it('keep the rate of the whole bot together', async () => {
    const times = await deliver(Array.from({ length: 20 }, (_, n) => `chat ${n}`));
    expect(times).toHaveLength(20);
    // Four in each period.
    expect(Math.max(...times)).toBeGreaterThan(4 * MIN_MS);
  });

  it('both hold back when the platform asked one of them to wait', async () => {
    telegram.next({
      kind: 'answer',
      answer: {
        status: 429,
        body: {
          ok: false,
          error_code: 429,
          description: 'Too Many Requests',
          parameters: { retry_after: 1 },
        },
      },
    });
    const first = await fixture.answered('first', to('9'));
    const since = performance.now();
    await replicas[0]?.handle({ stream_id: first, version: 0 });
    await eventually(async () => (await fixture.types(first)).includes('delivery.failed'));
    const second = await fixture.answered('second', to('9'));
    await replicas[1]?.handle({ stream_id: second, version: 0 });
    await eventually(() => telegram.shownIn('9').includes('second'));
    const [shown] = telegram.messages.filter(({ chatId }) => chatId === '9');
    expect((shown?.at ?? 0) - since).toBeGreaterThan(900);
    await fixture.hintUntil(replicas[0] as DeliveryDispatcher, first, fixture.settled(first));
  });
});
