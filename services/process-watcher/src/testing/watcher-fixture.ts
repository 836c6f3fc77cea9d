import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type EventData,
  type EventType,
  holderId,
  type ProcessWatcherConfig,
  parseConfig,
  type RecordedEvent,
  type SessionId,
  sessionId,
} from '@angelia/contracts';
import {
  type AppendRequest,
  type EventLog,
  type Leases,
  openEventLog,
  type Streams,
} from '@angelia/event-log';
import { createLogger } from '@angelia/service-kit';
import { type CreateSession, decide, decideAll, type SessionCommand } from '@angelia/session';
import { newSessionId, Sessions } from '@angelia/sessions';
import { createTestDatabase, eventually, PATIENT } from '@angelia/testkit';
import { chooseIsolation } from '../isolation/choose-isolation.ts';
import { SessionDirectories } from '../session-directories.ts';
import { chooseUserPolicy, type UserPolicy } from '../users/user-policy.ts';
import { Watcher, type WatcherOptions } from '../watcher/watcher.ts';

const silent = createLogger({
  service: 'process-watcher',
  instance: 'test',
  level: process.env.ANGELIA_LOG_LEVEL ?? 'silent',
});

const isRoot = process.getuid?.() === 0;

interface WatcherFixtureOptions {
  readonly processWatcher?: Readonly<Record<string, unknown>>;
  readonly agent?: Readonly<Record<string, unknown>>;
  /** Beside `default`. */
  readonly agents?: Readonly<Record<string, unknown>>;
  /** The path of the config file. */
  readonly configFile?: string;
  /** Instead of the users that commands would run as here. */
  readonly userPolicy?: UserPolicy;
}

/** The parts of a watcher's log that a test replaces, to delay or fail a call. */
interface Slowed {
  readonly append?: EventLog['append'];
  readonly streams?: Pick<Streams, 'read'>;
  readonly leases?: Pick<Leases, 'read'>;
}

/** A tool's result as the model reads it, and its outcome. */
type ToolResult = { readonly outcome: string } & Readonly<Record<string, unknown>>;

type AskedTool = readonly [tool: 'terminal' | 'process', args: Record<string, unknown>];

export type WatcherFixture = Awaited<ReturnType<typeof watcherFixture>>;

/** Watchers in one process, with a real Postgres and real commands. Tests append what a model would ask for. */
export async function watcherFixture(options: WatcherFixtureOptions = {}) {
  const database = await createTestDatabase();
  const dataDirectory = await mkdtemp(join(tmpdir(), 'angelia-watcher-'));
  await chmod(dataDirectory, 0o755);
  const logs: EventLog[] = [];
  const watchers = new Set<Watcher>();
  const parsed = parseConfig({
    models: { main: { provider: 'builtin', model: 'echo' } },
    agents: { ...options.agents, default: { model: 'main', toolsets: ['terminal'], ...options.agent } },
    // Without root, no isolation (isolation/*.int.test.ts tests it): these tests look at pids that commands print.
    process_watcher: { ...(isRoot ? {} : { run_as: 'same' }), ...options.processWatcher },
    // No sweep, so that it cannot do what a start should. Tests call it themselves.
    timing: { sweep_seconds: 3_600 },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const { config } = parsed;
  const open = (instance: string): EventLog => {
    const log = openEventLog({
      url: database.url,
      instance,
      holder: holderId(instance, 'test'),
      logger: silent,
      timeouts: PATIENT,
    });
    logs.push(log);
    return log;
  };
  const log = open('reader');
  const sessions = new Sessions({ log, instance: 'reader' });
  let calls = 0;
  const created: SessionId[] = [];
  /** Stands in for the view: nothing is projected here. */
  const listProcesses = async () => {
    const states = await Promise.all(
      created.map(async (id) => ({ id, state: (await sessions.load(id)).state })),
    );
    const items = states.flatMap(({ id, state }) =>
      state.processes
        .filter(({ status }) => status === 'running')
        .map(({ processId, watcher }) => ({
          processId,
          sessionId: id,
          status: 'running',
          updatedAt: 0,
          detail: { watcher },
        })),
    );
    return { items, nextCursor: null };
  };

  const fixture = {
    config,
    log,
    sessions,
    dataDirectory,
    /** Starts a watcher. `directory`: as on another host. `slowed`: replaces parts of its log. */
    async watcher(
      instance = 'process-watcher',
      directory = dataDirectory,
      slowed: (own: EventLog) => Slowed = () => ({}),
      {
        limits = {},
        ...more
      }: Pick<WatcherOptions, 'answerMs' | 'graceMs'> & {
        /** Instead of the fixture's limits. */
        readonly limits?: Partial<ProcessWatcherConfig>;
      } = {},
    ): Promise<Watcher> {
      const own = open(instance);
      const its = { ...config, process_watcher: { ...config.process_watcher, ...limits } };
      const slow = slowed(own);
      const log = {
        append: slow.append ?? ((request: AppendRequest) => own.append(request)),
        now: () => own.now(),
        streams: slow.streams ?? own.streams,
        leases: {
          read: slow.leases?.read ?? ((resource: string) => own.leases.read(resource)),
          renew: (...args: Parameters<Leases['renew']>) => own.leases.renew(...args),
        },
        lists: { processes: listProcesses },
      };
      const users = options.userPolicy ?? chooseUserPolicy(its.process_watcher);
      const directories = new SessionDirectories(directory, users);
      const isolation = chooseIsolation({
        config: its,
        users,
        directories,
        dataDirectory: directory,
        configFile: options.configFile ?? null,
      });
      const watcher = new Watcher({
        config: { current: its },
        sessions: new Sessions({ log, instance }),
        log,
        directories,
        userPolicy: users,
        isolation: () => isolation,
        instance,
        logger: silent,
        ...more,
        ping: (subject) => {
          const id = sessionId(subject.split('.').at(-1) ?? '');
          for (const other of watchers) void other.checkSessionIfOurs(id).catch(() => {});
        },
      });
      watchers.add(watcher);
      await watcher.start();
      return watcher;
    },
    /** Like a crash: this watcher does nothing from here on. (End-to-end tests use kill -9.) */
    async crash(watcher: Watcher): Promise<void> {
      watchers.delete(watcher);
      await watcher.close();
    },
    async execute(id: SessionId, ...commands: SessionCommand[]): Promise<void> {
      const executed = await sessions.execute(id, ({ state }) => decideAll(state, commands));
      if (executed.status !== 'appended')
        throw new Error(JSON.stringify(executed, ['status', 'code', 'reason']));
    },
    /** As if this watcher had not renewed its leases for `host_lease_seconds`. */
    async isGone(instance: string): Promise<void> {
      await database.query(
        "UPDATE angelia.leases SET expires_at = now() - interval '1 s' WHERE holder = $1",
        [`host:${instance}`],
      );
    },
    /** A session with an open run. */
    async running(over: Partial<CreateSession> = {}, id = newSessionId()): Promise<SessionId> {
      await sessions.execute(id, ({ state }) =>
        decide(state, {
          type: 'create-session',
          route: 'hook',
          event: null,
          deliveryId: id,
          title: 'test',
          agent: 'default',
          deliver: { target: 'log', to: {}, untrusted_address: false },
          input: 'do it',
          ...over,
        }),
      );
      created.push(id);
      await fixture.startRun(id, 1);
      return id;
    },
    async startRun(id: SessionId, turn: number): Promise<void> {
      const { state } = await sessions.load(id);
      await fixture.execute(id, {
        type: 'start-run',
        generation: state.generation + 1,
        turn,
        runner: 'runner#1',
        resumed: false,
        attempt: 1,
        takeover: false,
      });
    },
    /** Records a model response with these calls, and starts them. Returns their ids. */
    async calls(id: SessionId, asked: readonly AskedTool[]): Promise<string[]> {
      const toolCalls = asked.map(([name, args]) => {
        calls += 1;
        return { id: `call-${calls}`, name, arguments: JSON.stringify(args) };
      });
      const { state } = await sessions.load(id);
      const generation = state.generation;
      await fixture.execute(
        id,
        {
          type: 'record-model-response',
          generation,
          step: (state.turns[0]?.step ?? 0) + 1,
          model: 'main',
          text: '',
          toolCalls,
          finishReason: 'tool-calls',
          usage: { input_tokens: 1, output_tokens: 1 },
        },
        ...toolCalls.map((call) => ({
          type: 'start-tool' as const,
          generation,
          callId: call.id,
          tool: call.name,
          arguments: call.arguments,
        })),
      );
      return toolCalls.map((call) => call.id);
    },
    async call(id: SessionId, ...asked: AskedTool): Promise<string> {
      return (await fixture.calls(id, [asked]))[0] as string;
    },
    /** Waits for the result of a call. */
    result(id: SessionId, callId: string): Promise<ToolResult> {
      return eventually(
        async () => {
          const event = (await log.streams.read(id)).find(
            ({ type, data }) => type === 'tool.finished' && (data as { call_id: string }).call_id === callId,
          );
          const data = event?.data as EventData<'tool.finished'> | undefined;
          return data && ({ outcome: data.outcome, ...JSON.parse(data.result) } as ToolResult);
        },
        { describe: () => `a result of ${callId}` },
      );
    },
    /** Starts a call, lets the watcher carry it out, and returns its result. */
    async run(watcher: Watcher, id: SessionId, tool: 'terminal' | 'process', args: Record<string, unknown>) {
      const callId = await fixture.call(id, tool, args);
      await watcher.checkSession(id);
      return fixture.result(id, callId);
    },
    /** The same for several calls of one step. */
    async runAll(watcher: Watcher, id: SessionId, asked: readonly AskedTool[]): Promise<ToolResult[]> {
      const ids = await fixture.calls(id, asked);
      await watcher.checkSession(id);
      return Promise.all(ids.map((callId) => fixture.result(id, callId)));
    },
    /** Starts a background process. Returns its id. */
    async begin(watcher: Watcher, id: SessionId, command: string, more: Record<string, unknown> = {}) {
      const result = await fixture.run(watcher, id, 'terminal', { command, background: true, ...more });
      return String(result.process_id);
    },
    /** The texts of the turns that processes started. */
    async notices(id: SessionId): Promise<string[]> {
      const turns = await fixture.of(id, 'turn.requested');
      return turns.filter((turn) => turn.source === 'process').map((turn) => turn.input);
    },
    /** The run answers, which ends its turn. */
    async answer(id: SessionId, text = 'done'): Promise<void> {
      const { state } = await sessions.load(id);
      await fixture.execute(
        id,
        {
          type: 'record-model-response',
          generation: state.generation,
          step: (state.turns[0]?.step ?? 0) + 1,
          model: 'main',
          text,
          finishReason: 'stop',
          usage: { input_tokens: 1, output_tokens: 1 },
        },
        { type: 'finish-turn', generation: state.generation, text },
      );
    },
    /** As erasing and pruning do: the log does not know the session any more. */
    async erase(id: SessionId): Promise<void> {
      await database.query('DELETE FROM angelia.events WHERE stream_id = $1', [id]);
      created.splice(created.indexOf(id), 1);
    },
    events: (id: SessionId): Promise<RecordedEvent[]> => log.streams.read(id),
    async of<T extends EventType>(id: SessionId, type: T): Promise<EventData<T>[]> {
      return (await log.streams.read(id))
        .filter((event) => event.type === type)
        .map((event) => event.data as EventData<T>);
    },
    waitFor<T extends EventType>(id: SessionId, type: T): Promise<EventData<T>> {
      return eventually(async () => (await fixture.of(id, type)).at(-1), {
        describe: () => type,
      });
    },
    async stop(): Promise<void> {
      for (const watcher of watchers) await watcher.close();
      await Promise.all(logs.map((one) => one.close()));
      await database.drop();
      // The supervisor notices that its directory is gone, ends its commands and exits.
      await rm(dataDirectory, { recursive: true, force: true });
    },
  };
  return fixture;
}
