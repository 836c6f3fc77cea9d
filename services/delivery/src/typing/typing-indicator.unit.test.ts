import type { RunningConfig } from '@angelia/config';
import { type SessionId, typingSubject } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import { type Clock, type Loaded, systemClock } from '@angelia/sessions';
import { eventually } from '@angelia/testkit';
import { describe, expect, it } from '@jest/globals';
import type { DeliverySettings } from '../settings.ts';
import type { TargetAddress } from '../targets/target.ts';
import { listenForTyping, TypingIndicator } from './typing-indicator.ts';

const id = '0192aaaa-0000-7000-8000-000000000001' as SessionId;
const other = '0192aaaa-0000-7000-8000-000000000002' as SessionId;

interface Given {
  readonly chats?: readonly string[];
  readonly timeoutSeconds?: number;
  readonly agent?: string;
  readonly typing?: ((shown: number) => Promise<void>) | null;
  readonly clock?: Clock;
  /** Not the 4.5 s of real life. */
  readonly everyMs?: number;
}

/** A session whose run goes on until `end`. */
function setUp(given: Given = {}) {
  let running = true;
  let reads = 0;
  const shown: TargetAddress[] = [];
  const loaded = () =>
    ({
      id,
      state: {
        created: { agent: given.agent ?? 'default', deliver: { target: 'telegram', to: { chat_id: '7' } } },
        run: running ? { generation: 1 } : null,
      },
    }) as unknown as Loaded;
  const target = {
    name: 'telegram',
    ...(given.typing === null
      ? {}
      : {
          typing: async ({ address }: { address: TargetAddress }) => {
            shown.push(address);
            await given.typing?.(shown.length);
          },
        }),
  };
  const settings = {
    targets: { find: () => ({ target, settings: {} }) },
    chats: new Set(given.chats ?? ['telegram']),
    addressVariables: () => ({ reason: 'none' }),
  } as unknown as DeliverySettings;
  const config = {
    current: { agents: { default: { timeout_seconds: given.timeoutSeconds ?? 1_800 } } },
    hold: () => ({ settings, release: () => {} }),
  } as unknown as RunningConfig<DeliverySettings>;
  const indicator = new TypingIndicator({
    sessions: {
      load: async () => loaded(),
      refresh: async () => {
        reads += 1;
        return loaded();
      },
    },
    config,
    clock: given.clock ?? systemClock,
    logger: { debug: () => {} } as unknown as Logger,
    everyMs: given.everyMs ?? 1,
  });
  return {
    indicator,
    shown,
    reads: () => reads,
    end: () => {
      running = false;
    },
  };
}

describe('typing in a chat', () => {
  it('is shown again and again while the run goes on, and never after it', async () => {
    const { indicator, shown, end } = setUp();
    const showing = indicator.show(id);
    await eventually(() => shown.length >= 3);
    end();
    const atTheEnd = shown.length;
    await showing;
    expect(shown.length).toBeLessThanOrEqual(atTheEnd + 1);
    expect(shown[0]?.to).toEqual({ chat_id: '7' });
    expect(indicator.size).toBe(0);
  });

  it('is shown by one loop for each session, however often it is asked for', async () => {
    const { indicator, shown, end } = setUp({ everyMs: 60_000 });
    void indicator.show(id);
    void indicator.show(id);
    void indicator.show(other);
    await eventually(() => shown.length === 2);
    expect(indicator.size).toBe(2);
    end();
    await indicator.drain();
    await eventually(() => indicator.size === 0);
  });

  it('ends with the timeout of the agent, if a runner that died left its run open', async () => {
    let seconds = 0;
    const clock = { monotonic: () => seconds * 1_000, wall: () => Date.now() };
    const oneSecond = async () => {
      seconds += 1;
    };
    const { indicator, shown } = setUp({ timeoutSeconds: 3, clock, typing: oneSecond });
    await indicator.show(id);
    expect(shown).toHaveLength(3);
    const gone = setUp({ agent: 'gone' });
    await gone.indicator.show(id);
    expect(gone.shown).toEqual([]);
  });

  it('ends if the platform refuses it', async () => {
    const { indicator, shown } = setUp({
      typing: async (times) => {
        if (times === 2) throw new Error('no');
      },
    });
    await indicator.show(id);
    expect(shown).toHaveLength(2);
  });

  it('costs one read where the platform cannot show it, or the config has no chat of it', async () => {
    for (const given of [{ typing: null }, { chats: ['slack'] }]) {
      const { indicator, shown, reads } = setUp(given);
      await indicator.show(id);
      expect([shown.length, reads()]).toEqual([0, 0]);
    }
  });

  it('is asked for by a message that one replica gets', () => {
    let heard: (subject: string, payload: string) => void = () => {};
    const asked: string[] = [];
    listenForTyping(
      {
        subscribe: (subject, listener, options) => {
          expect([subject, options?.queue]).toEqual(['angelia.typing.*', 'delivery']);
          heard = listener;
          return () => {};
        },
      },
      {
        show: async (session) => {
          asked.push(session);
        },
      },
    );
    heard(typingSubject(id), '');
    expect(asked).toEqual([id]);
  });
});
