import { LiveConfig, type LoadedConfig } from '@angelia/config';
import {
  type Config,
  holderId,
  parseConfig,
  type RecordedEvent,
  type SessionId,
  sessionId,
} from '@angelia/contracts';
import { type EventLog, type Leases, openEventLog, type Streams } from '@angelia/event-log';
import { type CallbackLinks, createLogger } from '@angelia/service-kit';
import { type CreateSession, decide } from '@angelia/session';
import { newSessionId, Sessions } from '@angelia/sessions';
import { createTestDatabase, PATIENT, type TestDatabase } from '@angelia/testkit';
import { agentPoster } from '../agents/http/agent-request.ts';
import type { Model } from '../models/model.ts';
import { provideModels } from '../models/provide-models.ts';
import { Runner } from '../runner.ts';
import type { RunnerSettings } from '../settings.ts';
import { McpServers } from '../tools/mcp/mcp-servers.ts';
import { provideToolsets } from '../tools/provide-toolsets.ts';
import type { Tool } from '../tools/tool.ts';

const silent = createLogger({ service: 'agent-runner', instance: 'test', level: 'silent' });

type AgentOptions = Readonly<Record<string, unknown>>;

export interface FixtureOptions {
  /** A model server, or the test's own model. */
  readonly modelUrl?: string;
  readonly model?: Model;
  readonly leaseSeconds?: number;
  readonly agent?: AgentOptions;
  /** In addition to `default`. */
  readonly agents?: Readonly<Record<string, AgentOptions>>;
  readonly models?: Readonly<Record<string, unknown>>;
  readonly skillsDirectory?: string;
  readonly routes?: Readonly<Record<string, unknown>>;
  readonly callbacks?: CallbackLinks;
  readonly mcpServers?: Readonly<Record<string, unknown>>;
  /** The test's own toolsets, in addition to ours. */
  readonly toolsets?: Readonly<Record<string, readonly Tool[]>>;
}

/** Runners in one process over one real Postgres. Each is its own lease holder, as replicas are. */
export async function runnerFixture(options: FixtureOptions) {
  const database: TestDatabase = await createTestDatabase();
  const logs: EventLog[] = [];
  const runners: (Runner & { mend(): void })[] = [];
  const listeners = new Set<() => void>();
  const configWith = (agent: AgentOptions = {}) => {
    const parsed = parseConfig({
      ...raw,
      agents: { ...raw.agents, default: { ...raw.agents.default, ...agent } },
    });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    return parsed.config;
  };
  const raw = {
    models: {
      main: {
        provider: 'openai-compatible',
        base_url: options.modelUrl ?? 'http://127.0.0.1:9/v1',
        model: 'm1',
        api_key: 'sk-secret-key',
      },
      ...options.models,
    },
    agents: { ...options.agents, default: { model: 'main', ...options.agent } },
    timing: { lease_seconds: options.leaseSeconds ?? 20 },
    routes: options.routes ?? {},
    directories: { skills: options.skillsDirectory ?? './skills' },
    mcp_servers: options.mcpServers ?? {},
  };
  const config = configWith();
  const mcp = new McpServers(config, silent);
  const ours = provideToolsets(mcp);
  const models = options.model ? new Map([['main', options.model]]) : await provideModels(config);
  const open = (instance: string): EventLog => {
    const log = openEventLog({
      url: database.url,
      instance,
      holder: holderId(instance, 'test'),
      logger: silent,
      timeouts: PATIENT,
      onCommitted: () => {
        for (const ring of listeners) ring();
      },
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
    /** `cut()` cuts its connection to Postgres, as a kill or an outage does: calls neither succeed nor fail. */
    runner(
      instance: string,
      over: {
        agentGone?: boolean;
        /** No pings, as if NATS were away. */
        deaf?: boolean;
        watcherGraceSeconds?: number;
        waitingCap?: number;
        queued?: () => SessionId[];
        /** The sessions that wait for a model, oldest first. */
        waiting?: () => readonly SessionId[];
        agent?: AgentOptions;
        /** As if the operator had edited the config since. */
        config?: (config: Config) => Config;
        /** What the file says by now. The runner has not seen it yet. */
        newFile?: (config: Config) => Config;
        /** As if Postgres had been away for this runner at this time. */
        lastAwayAt?: () => number;
      } = {},
    ) {
      const own = open(instance);
      const line = cuttable(own);
      const queued = () =>
        Promise.all(
          (over.queued?.() ?? []).map(async (id) => {
            const route = (await own.streams.routeOf(id))?.route ?? '';
            return { sessionId: id, route, version: 2, runDueAt: 0 };
          }),
        );
      const live = new LiveConfig<RunnerSettings>(
        {
          config: (over.config ?? ((same) => same))(
            over.agentGone ? { ...config, agents: {} } : configWith(over.agent),
          ),
        } as LoadedConfig,
        {
          models,
          modelConfigs: config.models,
          mcp,
          toolsets: (name: string) => options.toolsets?.[name] ?? ours(name),
          callbacks: options.callbacks ?? null,
        },
      );
      const runner = new Runner({
        config: live,
        refreshConfig: async () => {
          if (over.newFile !== undefined) await take(over.newFile);
        },
        postToAgent: agentPoster(),
        pings: {
          subscribe(_subject, listener) {
            if (!over.deaf) listeners.add(listener);
            return () => listeners.delete(listener);
          },
        },
        sessions: new Sessions({ log: line.log, instance }),
        log: {
          status: {
            get lastAwayAt() {
              return over.lastAwayAt?.() ?? own.status.lastAwayAt;
            },
          },
          leases: line.log.leases,
          streams: own.streams,
          queue: {
            pick: queued,
            pickOfRoute: queued,
            // There is no projection here: the sessions that a view would show as waiting for a model.
            pickByState: async (_part, after, limit) =>
              (over.waiting?.() ?? []).filter((id) => id > after).slice(0, limit),
          },
        },
        holder: holderId(instance, 'test'),
        logger: silent,
        ...(over.watcherGraceSeconds === undefined ? {} : { watcherGraceSeconds: over.watcherGraceSeconds }),
        ...(over.waitingCap === undefined ? {} : { waitingCap: over.waitingCap }),
      });
      /** As if the operator edited the config while the runner works. */
      const take = async (change: (config: Config) => Config): Promise<void> => {
        const next = change(live.current);
        const settings = {
          ...live.settings,
          models: await provideModels(next),
          modelConfigs: next.models,
        };
        live.take({ config: next } as LoadedConfig, settings);
      };
      const made = Object.assign(runner, { cut: line.cut, mend: line.mend, asked: line.asked, take });
      runners.push(made);
      return made;
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
    events: (id: SessionId): Promise<RecordedEvent[]> => log.streams.read(id),
    /** As if what happened to the session so far had happened this much earlier. */
    async letPass(id: SessionId, seconds: number): Promise<void> {
      const earlier = (column: string) => `${column} = ${column} - make_interval(secs => ${seconds})`;
      await database.query(`UPDATE angelia.events SET ${earlier('recorded_at')} WHERE stream_id = $1`, [id]);
      await database.query(`UPDATE angelia.leases SET ${earlier('renewed_at')} WHERE resource = $1`, [
        `run:${id}`,
      ]);
    },
    async types(id: SessionId): Promise<string[]> {
      return (await log.streams.read(id)).map((event) => event.type);
    },
    async stop(): Promise<void> {
      for (const runner of runners) {
        runner.mend();
        runner.close();
        // A run that a failed test left in progress would keep the process alive for minutes.
        runner.interruptAll();
      }
      await Promise.all(runners.map((runner) => runner.idle()));
      for (const runner of runners) runner.stopRenewing();
      await mcp.close();
      await Promise.all(logs.map((one) => one.close()));
      await database.drop();
    },
  };
}

/** While cut, every call hangs. After `mend`, the calls that hung go through. */
function cuttable(log: EventLog) {
  let gate: Promise<void> = Promise.resolve();
  let open: () => void = () => {};
  const asked = { append: 0, readStream: 0, readWholeStream: 0, lease: 0, renewLeases: 0 };
  const wrap =
    <A extends unknown[], R>(name: keyof typeof asked, call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      asked[name] += 1;
      await gate;
      return call(...args);
    };
  return {
    log: {
      append: wrap('append', (...args: Parameters<EventLog['append']>) => log.append(...args)),
      streams: {
        read: wrap('readStream', (...args: Parameters<Streams['read']>) => {
          if (args[1] === undefined) asked.readWholeStream += 1;
          return log.streams.read(...args);
        }),
      },
      now: () => log.now(),
      leases: {
        read: wrap('lease', (...args: Parameters<Leases['read']>) => log.leases.read(...args)),
        renew: wrap('renewLeases', (...args: Parameters<Leases['renew']>) => log.leases.renew(...args)),
      },
    },
    /** How often each call was made. */
    asked,
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
