import { holderId, parseConfig, type RecordedEvent, type SessionId, sessionId } from '@angelia/contracts';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { createLogger, newSessionId, Sessions } from '@angelia/service-kit';
import { type CreateSession, decide } from '@angelia/session';
import { createTestDatabase, type TestDatabase } from '@angelia/testkit';
import { provideModels } from '../models/models.ts';
import { Runner } from '../runner.ts';

const silent = createLogger({ service: 'agent-runner', instance: 'test', level: 'silent' });

type AgentOptions = Readonly<Record<string, unknown>>;

export interface FixtureOptions {
  readonly modelUrl: string;
  readonly leaseSeconds?: number;
  readonly agent?: AgentOptions;
  readonly models?: Readonly<Record<string, unknown>>;
  readonly skillsDirectory?: string;
  readonly routes?: Readonly<Record<string, unknown>>;
}

/** Runners over one real Postgres, in one process; each is a holder of its own, as two replicas are. */
export async function runnerFixture(options: FixtureOptions) {
  const database: TestDatabase = await createTestDatabase();
  const logs: EventLog[] = [];
  const runners: Runner[] = [];
  const parsed = parseConfig({
    models: {
      main: {
        provider: 'openai-compatible',
        base_url: options.modelUrl,
        model: 'm1',
        api_key: 'sk-secret-key',
      },
      ...options.models,
    },
    agents: { default: { model: 'main', ...options.agent } },
    timing: { lease_seconds: options.leaseSeconds ?? 1 },
    routes: options.routes ?? {},
    directories: { skills: options.skillsDirectory ?? './skills' },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const { config } = parsed;
  const models = await provideModels(config);
  const open = (instance: string): EventLog => {
    const log = openEventLog({
      url: database.url,
      instance,
      holder: holderId(instance, 'test'),
      logger: silent,
    });
    logs.push(log);
    return log;
  };
  const log = open('reader');
  const sessions = new Sessions({ log, instance: 'reader' });

  return {
    config,
    log,
    sessions,
    /** `cut()` cuts its line to Postgres for good, as a kill or an outage does: calls neither succeed nor fail. */
    runner(
      instance: string,
      over: { agentGone?: boolean; waitingCap?: number; queued?: () => SessionId[] } = {},
    ) {
      const own = open(instance);
      const line = cuttable(own);
      const queued = () =>
        (over.queued?.() ?? []).map((id) => ({ sessionId: id, route: 'hook', version: 2, runDueAt: 0 }));
      const runner = new Runner({
        config: over.agentGone ? { ...config, agents: {} } : config,
        models,
        sessions: new Sessions({ log: line.log, instance }),
        log: {
          lease: (resource) => line.log.lease(resource),
          renewLeases: (...args) => line.log.renewLeases(...args),
          pickQueued: async () => queued(),
          queuedOf: async () => queued(),
        },
        holder: holderId(instance, 'test'),
        logger: silent,
        ...(over.waitingCap === undefined ? {} : { waitingCap: over.waitingCap }),
      });
      runners.push(runner);
      return Object.assign(runner, { cut: line.cut, mend: line.mend });
    },
    async create(
      input: string,
      agent = 'default',
      skills: readonly string[] = [],
      over: Partial<CreateSession> = {},
    ): Promise<SessionId> {
      const id = newSessionId();
      await sessions.execute(id, ({ state }) =>
        decide(state, {
          type: 'create-session',
          route: 'hook',
          event: null,
          deliveryId: id,
          title: 'test',
          agent,
          skills,
          deliver: { target: 'log', to: {}, untrusted_address: false },
          input,
          ...over,
        }),
      );
      return sessionId(id);
    },
    events: (id: SessionId): Promise<RecordedEvent[]> => log.readStream(id),
    async types(id: SessionId): Promise<string[]> {
      return (await log.readStream(id)).map((event) => event.type);
    },
    async stop(): Promise<void> {
      for (const runner of runners) runner.stopRenewing();
      await Promise.all(logs.map((one) => one.close()));
      await database.drop();
    },
  };
}

/** While cut, every call hangs; after mend, those that hung go through. */
function cuttable(log: EventLog) {
  let gate: Promise<void> = Promise.resolve();
  let open: () => void = () => {};
  const wrap =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await gate;
      return call(...args);
    };
  return {
    log: {
      append: wrap((...args: Parameters<EventLog['append']>) => log.append(...args)),
      readStream: wrap((...args: Parameters<EventLog['readStream']>) => log.readStream(...args)),
      lease: wrap((...args: Parameters<EventLog['lease']>) => log.lease(...args)),
      renewLeases: wrap((...args: Parameters<EventLog['renewLeases']>) => log.renewLeases(...args)),
    },
    cut() {
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    mend() {
      open();
      gate = Promise.resolve();
    },
  };
}
