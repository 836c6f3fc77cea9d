import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEventLog } from '@angelia/event-log';
import { pruneSessions } from '@angelia/event-log/admin';
import {
  type ModelServer,
  type PlatformBehaviour,
  type Sink,
  startModelServer,
  startSink,
  startTelegram,
  startTestStack,
  TEST_SINK_SECRET,
  type TelegramStandIn,
  type TestStack,
} from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { ViewsObserver } from '../e2e/views.ts';
import { judge, type Verdict } from './checker.ts';
import { explained } from './explain.ts';
import { openWay, type Way } from './failing-network.ts';
import type { History, Injected } from './history.ts';
import { chaosConfig, modelOf, TELEGRAM_TOKEN, targetOf } from './kinds.ts';
import { sendLoad } from './load.ts';
import {
  modelCalls,
  readDeadLetters,
  readEffects,
  readEvents,
  readViews,
  receivedBy,
  unsettled,
} from './observe.ts';
import { randomFrom } from './random.ts';
import { sabotage } from './saboteur.ts';
import { type SchedulePlan, type Server, scheduleOf } from './schedule.ts';

export interface ChaosPlan {
  readonly seed: number;
  /** The time of load and faults, without starting, settling and judging. */
  readonly lastsMs: number;
  readonly perSecond: number;
  readonly everyMs: SchedulePlan['everyMs'];
  readonly longestMs: number;
  /** Everything must be settled within this time after the last fault. */
  readonly settleMs: number;
  readonly say: (line: string) => void;
  /** Ends the run early. What was started is still judged. */
  readonly signal?: AbortSignal;
}

export interface ChaosResult extends Verdict {
  readonly history: History;
  readonly settledAfterMs: number | null;
  /** Rows left in the log after all sessions were pruned: events, and delivery keys. */
  readonly leftAfterPruning: number;
}

/** Two runners and two senders, because the faults test takeovers. */
const REPLICAS = 'agent-runner=2,delivery=2';
const INSTANCES = ['ingress', 'agent-runner', 'agent-runner-2', 'delivery', 'delivery-2', 'process-watcher'];
/** Telegram accepts one in this many messages without answering. */
const TELEGRAM_CUTS_OFF = 8;
const VIEWS_CATCH_UP_MS = 30_000;
const PRUNED_WITHIN_MS = 20_000;

/** Runs a whole system with stand-ins under load and faults, waits until it is settled, then judges it. It leaves nothing behind. */
export async function runChaos(plan: ChaosPlan): Promise<ChaosResult> {
  const home = await mkdtemp(join(tmpdir(), 'angelia-chaos-'));
  // Commands run as other users, and must be able to enter the directory and write there.
  const effects = join(home, 'effects');
  await mkdir(effects);
  await chmod(home, 0o711);
  await chmod(effects, 0o777);
  const [sink, model, telegram] = await Promise.all([
    startSink({ secret: TEST_SINK_SECRET }),
    startModelServer(),
    startTelegram({ token: TELEGRAM_TOKEN }),
  ]);
  const ways = new Map<string, Record<Server, Way>>();
  try {
    model.behave(modelOf(effects));
    sink.behave(targetOf());
    telegram.next(...someCutOff(plan));
    return await onStack(plan, { sink, model, telegram, effects, ways });
  } finally {
    await Promise.all([...ways.values()].flatMap((way) => [way.postgres.close(), way.nats.close()]));
    await Promise.all([sink.stop(), model.stop(), telegram.stop()]);
    await rm(home, { recursive: true, force: true });
  }
}

interface Surroundings {
  readonly sink: Sink;
  readonly model: ModelServer;
  readonly telegram: TelegramStandIn;
  readonly effects: string;
  readonly ways: Map<string, Record<Server, Way>>;
}

interface Ending {
  readonly at: number;
  readonly line: string;
}

async function onStack(plan: ChaosPlan, around: Surroundings): Promise<ChaosResult> {
  const { sink, model, telegram, ways } = around;
  const endings: Ending[] = [];
  const stack = await startTestStack({
    config: chaosConfig({ sinkUrl: sink.url, modelUrl: model.baseUrl, telegramUrl: telegram.url }),
    replicas: REPLICAS,
    // The invariant accepted-is-durable needs a Postgres with fsync.
    durable: true,
    envOf: async (instance, { databaseUrl, natsUrl }) => {
      const way = { postgres: await openWay(databaseUrl), nats: await openWay(natsUrl) };
      ways.set(instance, way);
      return { DATABASE_URL: way.postgres.url, NATS_URL: way.nats.url };
    },
    say: (line) => {
      if (/ ended \(/.test(line)) endings.push({ at: Date.now(), line });
    },
  });
  try {
    const { say } = plan;
    const result = await breakAndJudge(plan, stack, around, endings);
    say(explained(result, join(stack.dataDir, 'logs')));
    return result;
  } catch (error) {
    await stack.printLogs();
    throw error;
  } finally {
    await stack.stop();
  }
}

async function breakAndJudge(
  plan: ChaosPlan,
  stack: TestStack,
  { sink, model, telegram, effects, ways }: Surroundings,
  endings: readonly Ending[],
): Promise<ChaosResult> {
  const { seed, lastsMs, everyMs, longestMs, say } = plan;
  const schedule = scheduleOf({ seed, lastsMs, instances: INSTANCES, everyMs, longestMs });
  // A sender whose webhook is not accepted by then gives up. The time to settle limits it.
  const patience = AbortSignal.timeout(lastsMs + plan.settleMs);
  const signal = plan.signal === undefined ? patience : AbortSignal.any([patience, plan.signal]);
  const load = sendLoad(stack, { seed, lastsMs, perSecond: plan.perSecond, signal });
  const faults = await sabotage(schedule, stack, ways, say, signal);
  const begin = performance.now();
  const { posts, messages } = await load;

  const observer = await connected(stack, plan.settleMs);
  try {
    const settledAfterMs = await settled(observer, plan.settleMs, begin, say);
    const views = await readViews(observer, VIEWS_CATCH_UP_MS);
    const history: History = {
      posts,
      messages,
      events: await readEvents(observer),
      received: receivedBy(sink, telegram),
      modelCalls: modelCalls(model),
      effects: readEffects(effects),
      faults,
      views,
      deadLetters: await readDeadLetters(observer),
      falls: unexplained(endings, faults),
      problems: [...model.problems, ...telegram.problems],
    };
    const leftAfterPruning = await prune(stack, observer);
    return { ...judge(history), history, settledAfterMs, leftAfterPruning };
  } finally {
    await observer.close();
  }
}

async function connected(stack: TestStack, patienceMs: number): Promise<ViewsObserver> {
  const end = performance.now() + patienceMs;
  for (;;) {
    try {
      return await ViewsObserver.connect(stack.postgresUrl);
    } catch (error) {
      if (performance.now() > end) throw error;
      await pause(250);
    }
  }
}

/** Null if it did not happen in time. */
async function settled(
  observer: ViewsObserver,
  withinMs: number,
  begin: number,
  say: (line: string) => void,
): Promise<number | null> {
  for (;;) {
    const left = await unsettled(observer);
    const afterMs = performance.now() - begin;
    if (left === 0) return afterMs;
    if (afterMs > withinMs) {
      say(`${left} sessions are not settled ${Math.round(afterMs / 1000)} s after the last fault`);
      return null;
    }
    await pause(500);
  }
}

/** Invariant bounded: everything that has ended can be pruned as soon as the relay has passed it. */
async function prune(stack: TestStack, observer: ViewsObserver): Promise<number> {
  const log = openEventLog({ url: stack.postgresUrl, instance: 'chaos', holder: 'chaos#1' });
  const end = performance.now() + PRUNED_WITHIN_MS;
  try {
    for (;;) {
      await pruneSessions({ log, olderThanDays: 1e-6 });
      const [row] = await observer.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM angelia.events',
      );
      const left = row?.count ?? 0;
      if (left === 0 || performance.now() > end) return left;
      await pause(500);
    }
  } finally {
    await log.close();
  }
}

/** A drain with its margin, and more for a busy machine. */
const ENDS_WITHIN_MS = 20_000;

/** The ends of programs that no fault explains. */
function unexplained(endings: readonly Ending[], faults: readonly Injected[]): string[] {
  return endings.flatMap(({ at, line }) => {
    const program = line.split(' ')[0] ?? '';
    const explained = faults.some(({ fault, from, until }) => {
      const hit =
        'program' in fault
          ? fault.program === program
          : fault.kind === 'kill-everything' || (fault.kind === 'delete-store' && program === 'nats');
      return hit && from <= at && at <= until + ENDS_WITHIN_MS;
    });
    return explained ? [] : [line];
  });
}

function someCutOff({ seed, lastsMs, perSecond }: ChaosPlan): PlatformBehaviour[] {
  const random = randomFrom(seed ^ 0x7e1e);
  return Array.from({ length: Math.ceil((lastsMs / 1000) * perSecond) }, () =>
    random.between(1, TELEGRAM_CUTS_OFF) === 1 ? { kind: 'cut-off' } : { kind: 'take' },
  );
}
