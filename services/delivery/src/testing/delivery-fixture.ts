import { addressVariables, knownTargets, LiveConfig, type LoadedConfig } from '@angelia/config';
import { type Config, configSchema, type DeliveryTarget, holderId, type SessionId } from '@angelia/contracts';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { createTestDatabase, PATIENT } from '@angelia/event-log/testing';
import { createLogger } from '@angelia/service-kit';
import { type CreateSession, decide, type SessionCommand } from '@angelia/session';
import { newSessionId, Sessions, systemClock } from '@angelia/sessions';
import { eventually, TEST_SINK_SECRET } from '@angelia/testkit';
import type { DeliveryProcess } from '../delivery-context.ts';
import { DeliveryDispatcher, DISPATCHER_LIMITS, type DispatcherLimits } from '../plan/delivery-dispatcher.ts';
import type { DeliverySettings } from '../settings.ts';
import { loadAdapters, openTargets, type Targets } from '../targets/target-registry.ts';

const logger = createLogger({ service: 'delivery', instance: 'test', level: 'fatal', secrets: [] });

export interface SenderOptions {
  readonly name?: string;
  readonly incarnation?: string;
  readonly delivery?: Partial<Config['delivery']>;
  /** As in the config file, besides `http`. */
  readonly settings?: Record<string, Record<string, unknown>>;
  readonly sessions?: Sessions;
  readonly limits?: Partial<DispatcherLimits>;
  readonly targets?: (targets: Targets) => Targets;
  /** The platforms with a chat in the config. */
  readonly chats?: readonly string[];
  /** What watchers answer. Default: none does. */
  readonly askWatcher?: DeliveryProcess['bus']['request'];
  /** The environment variables. */
  readonly env?: Record<string, string>;
}

interface NewSession {
  readonly deliver: DeliveryTarget;
  readonly fallback?: DeliveryTarget;
  readonly interim?: 'message' | 'edit' | 'off';
  readonly deliverFiles?: { max_bytes: number; types: string[] };
  readonly tools?: CreateSession['tools'];
  /** Who has its directory. */
  readonly watcher?: string;
}

/** A log with sessions, and delivery services without their transport: to the log, they look like replicas. */
export interface DeliveryFixture {
  readonly log: EventLog;
  readonly sessions: Sessions;
  sender(options?: SenderOptions): DeliveryDispatcher;
  /** Puts other settings in force, as a reload does. */
  reconfigure(dispatcher: DeliveryDispatcher, options: SenderOptions): void;
  put(id: SessionId, ...commands: SessionCommand[]): Promise<void>;
  /** A session with a started run. */
  running(session: NewSession): Promise<SessionId>;
  answered(text: string, session: NewSession): Promise<SessionId>;
  deliveryEvents(id: SessionId): Promise<{ type: string; data: Record<string, unknown> }[]>;
  types(id: SessionId): Promise<string[]>;
  /** Hints again and again, as timers and the sweep do, until the condition holds. */
  hintUntil(
    dispatcher: DeliveryDispatcher,
    ids: SessionId | readonly SessionId[],
    so: () => unknown,
  ): Promise<void>;
  /** This many attempts have failed. */
  failed(id: SessionId, times: number): () => Promise<boolean>;
  /** Nothing is left to send. */
  settled(...ids: SessionId[]): () => Promise<boolean>;
  /** Closes what was opened for one test. */
  closeSenders(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Of a sender whose requests get no answer: it gives up soon, its claim ends after 3 s, and the next attempt can be left to a
 * sender with more time.
 */
export const HURRIED = { request_timeout_seconds: 2, retry_schedule_seconds: [1, 1] };

export const status = (sequence: number, text: string, generation = 1): SessionCommand => ({
  type: 'interim-status',
  generation,
  sequence,
  kind: 'progress',
  text,
});

export const final = (text: string, generation = 1): SessionCommand => ({
  type: 'finish-turn',
  generation,
  text,
});

export async function openDeliveryFixture(): Promise<DeliveryFixture> {
  const database = await createTestDatabase();
  const log = openEventLog({
    url: database.url,
    instance: 'test',
    holder: 'test#1',
    timeouts: PATIENT,
  });
  const sessions = new Sessions({ log, instance: 'test' });
  const adapters = await loadAdapters(knownTargets);
  const opened: Targets[] = [];
  const configs = new Map<DeliveryDispatcher, LiveConfig<DeliverySettings>>();
  const loadedWith = (options: SenderOptions) => {
    const config = configSchema.parse({
      targets: { http: { secret: TEST_SINK_SECRET }, ...options.settings },
      // Longer than a busy machine needs: a request without an answer would be sent again, marked.
      delivery: { retry_schedule_seconds: [0.05, 0.1], request_timeout_seconds: 10, ...options.delivery },
    });
    const targets = openTargets(config, logger, adapters, { host: '127.0.0.1', port: 8644 });
    opened.push(targets);
    const settings: DeliverySettings = {
      targets: options.targets?.(targets) ?? targets,
      addressVariables: addressVariables({}, options.env ?? {}),
      policy: config.delivery,
      answerLinks: null,
      linksAreLocal: false,
      chats: new Set(options.chats ?? []),
    };
    return { loaded: { config } as LoadedConfig, settings };
  };

  const put: DeliveryFixture['put'] = async (id, ...commands) => {
    for (const command of commands) {
      const executed = await sessions.execute(id, ({ state }) => decide(state, command));
      if (executed.status !== 'appended') throw new Error(`${command.type}: ${JSON.stringify(executed)}`);
    }
  };
  const running: DeliveryFixture['running'] = async ({ deliver, fallback, interim = 'message', ...more }) => {
    const id = newSessionId();
    await put(
      id,
      {
        type: 'create-session',
        route: 'hook',
        event: 'push',
        deliveryId: `d-${id}`,
        title: 'a session',
        agent: 'default',
        deliver,
        fallbackTarget: fallback ?? null,
        interim,
        ...more,
        input: 'hello',
      },
      { type: 'start-run', generation: 1, turn: 1, runner: 'r', resumed: false, attempt: 1, takeover: false },
    );
    return id;
  };
  const deliveryEvents: DeliveryFixture['deliveryEvents'] = async (id) =>
    (await log.streams.read(id))
      .filter(({ type }) => type.startsWith('delivery.'))
      .map(({ type, data }) => ({ type, data: data as Record<string, unknown> }));

  return {
    log,
    sessions,
    put,
    running,
    deliveryEvents,
    sender(options = {}) {
      const { loaded, settings } = loadedWith(options);
      // Postgres runs on this host and has the same clock.
      const startedAt = Date.now();
      const context: DeliveryProcess = {
        sessions: options.sessions ?? sessions,
        streams: log.streams,
        holder: holderId(options.name ?? 'delivery', options.incarnation ?? 'b'),
        logger,
        clock: systemClock,
        random: () => 0.5,
        startedAt: () => startedAt,
        unrecorded: new Set(),
        bus: { request: options.askWatcher ?? (async () => null) },
      };
      const live = new LiveConfig(loaded, settings, { close: ({ targets }) => void targets.close() });
      const dispatcher = new DeliveryDispatcher(context, live, log.sendRates, {
        ...DISPATCHER_LIMITS,
        ...options.limits,
      });
      configs.set(dispatcher, live);
      return dispatcher;
    },
    reconfigure(dispatcher, options) {
      const { loaded, settings } = loadedWith(options);
      configs.get(dispatcher)?.take(loaded, settings);
    },
    async answered(text, session) {
      const id = await running(session);
      await put(id, final(text));
      return id;
    },
    types: async (id) => (await deliveryEvents(id)).map(({ type }) => type),
    async hintUntil(dispatcher, ids, so) {
      await eventually(async () => {
        for (const id of [ids].flat()) await dispatcher.handle({ stream_id: id, version: 0 });
        return (await so()) as boolean;
      });
    },
    failed: (id, times) => async () =>
      (await deliveryEvents(id)).filter(({ type }) => type === 'delivery.failed').length >= times,
    settled:
      (...ids) =>
      async () => {
        for (const id of ids) {
          const { state } = await sessions.load(id);
          if (state.outputs.some((output) => output.status !== 'dead')) return false;
        }
        return true;
      },
    async closeSenders() {
      for (const targets of opened.splice(0)) await targets.close();
    },
    async close() {
      await log.close();
      await database.drop();
    },
  };
}
