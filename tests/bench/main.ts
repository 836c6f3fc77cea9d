// `npm run bench`: every figure beside a baseline from the same run, because machines differ and are noisy.
//   npm run bench -- --only ingest,sessions    a part
//   npm run bench -- --quick                   shorter, noisier
//   npm run bench -- --replicas delivery=2     more of a service, as ANGELIA_REPLICAS
//   npm run bench -- --only cost --log /tmp/log --steps fill       one step of the part cost; the logs stay in /tmp/log
//   npm run bench -- --only console --steps page,ingest            some steps of the part console

import { fork } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SERVICES, type Stack, startPostgres, startStack } from '@angelia/local';
import { pause } from '@angelia/waiting';
import { stringify } from 'yaml';
import { benchAppend } from './append.ts';
import { benchChats } from './chats.ts';
import { benchConsole, CONSOLE_STEPS } from './console/console.ts';
import { benchCost, COST_STEPS } from './cost/cost.ts';
import { cpuBetween, cpuSeconds } from './cpu.ts';
import { benchDeliveries } from './deliveries.ts';
import { handoversSince, logTime } from './handovers.ts';
import { benchIdle } from './idle.ts';
import { postLoad } from './load.ts';
import { residentMegabytes } from './memory.ts';
import { relayLag } from './relay-lag.ts';
import { type Figure, table, writeJson } from './report.ts';
import { latencyAtRate, type SessionsTarget, sessionsPerSecond } from './sessions.ts';
import { startBenchSink } from './sink.ts';

const PARTS = [
  'append',
  'cost',
  'ingest',
  'relay',
  'sessions',
  'deliveries',
  'latency',
  'memory',
  'idle',
  'console',
  'chats',
] as const;
type Part = (typeof PARTS)[number];

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean' },
    replicas: { type: 'string' },
    log: { type: 'string' },
    steps: { type: 'string' },
  },
});
const wanted = chosen('part', values.only, PARTS);
/** Of the part `cost`, or else of the part `console`. */
const steps = chosen('step', wanted.has('cost') ? values.steps : undefined, COST_STEPS);
const consoleSteps = chosen('step', wanted.has('cost') ? undefined : values.steps, CONSOLE_STEPS);
const quick = values.quick ?? false;

const SECRET = 'bench-secret';
/** Enough to keep ingress busy, but few enough that requests do not just queue. */
const CONNECTIONS = 128;
const IN_FLIGHT = 128;

/** By the route's model. The built-in echo costs nothing; the other two use the protocol of real models. */
const PROTOCOLS = [
  { route: 'bench', name: 'echo' },
  { route: 'bench-stream', name: 'streamed' },
  { route: 'bench-whole', name: 'in one piece' },
] as const;

const figures: Figure[] = [];
const say = (line: string) => process.stderr.write(`bench: ${line}\n`);
const home = await mkdtemp(join(tmpdir(), 'angelia-bench-'));

try {
  if (wanted.has('append')) await appendFigures();
  if (wanted.has('cost')) figures.push(...(await benchCost(costOptions())));
  if (
    ['ingest', 'relay', 'sessions', 'deliveries', 'latency', 'memory'].some((part) =>
      wanted.has(part as Part),
    )
  ) {
    await stackFigures();
  }
  if (wanted.has('idle')) await idle();
  if (wanted.has('console'))
    figures.push(
      ...(await benchConsole({
        home: await mkdtemp(join(home, 'console-')),
        steps: consoleSteps,
        quick,
        say,
      })),
    );
  if (wanted.has('chats'))
    figures.push(...(await benchChats({ home: await mkdtemp(join(home, 'chats-')), quick, say })));
  process.stdout.write(`\n${table(figures)}\n`);
  say(`written to ${await writeJson('bench-results', figures)}`);
} finally {
  await rm(home, { recursive: true, force: true });
}

/** The first of `all` that is not one of them is an error. All of them without a choice. */
function chosen<T extends string>(kind: string, given: string | undefined, all: readonly T[]): Set<T> {
  const names = given?.split(',') ?? all;
  const unknown = names.find((name) => !all.some((one) => one === name));
  if (unknown !== undefined)
    throw new Error(`there is no ${kind} \`${unknown}\`: give some of ${all.join(', ')}`);
  return new Set(names as T[]);
}

async function appendFigures(): Promise<void> {
  say('append against a raw batched insert');
  const postgres = await startPostgres({ dataDir: join(home, 'log') });
  try {
    const append = await benchAppend({ url: postgres.url });
    figures.push({
      name: 'append, of a raw insert of the same rows',
      value: append.ratio,
      unit: '',
      floor: { name: 'raw insert events/s', value: append.rawPerSecond },
      goal: { value: 0.5, good: 'at least' },
    });
    figures.push({ name: 'append', value: append.appendPerSecond, unit: 'events/s' });
  } finally {
    await postgres.stop();
  }
}

function costOptions(): Parameters<typeof benchCost>[0] {
  return {
    directory: values.log ?? join(home, 'cost'),
    steps,
    events: quick ? { small: 20_000, large: 500_000 } : { small: 100_000, large: 10_000_000 },
    say,
  };
}

async function stackFigures(): Promise<void> {
  const sink = await startBenchSink();
  const model = await forked('./model-stub.ts');
  const config = join(home, 'angelia.yaml');
  await writeFile(config, benchConfig(sink.url, model.url));
  const stack = await startStack({
    dataDir: join(home, 'stack'),
    config,
    port: 0,
    ...(values.replicas === undefined ? {} : { replicas: values.replicas }),
    env: { ANGELIA_LOG_LEVEL: 'warn' },
  });
  const target = { url: stack.url, secret: SECRET, sink, route: 'bench' };
  try {
    if (wanted.has('memory')) await idleMemory(stack);
    if (wanted.has('deliveries')) await deliveries(stack);
    const bare = wanted.has('ingest') || wanted.has('sessions') ? await bareServer() : Number.NaN;
    if (wanted.has('ingest')) await ingest(stack, bare);
    if (wanted.has('relay')) await relay(stack);
    if (wanted.has('latency')) await latency(stack, target);
    if (wanted.has('sessions')) await sessions(stack, target, bare);
    if (wanted.has('memory')) await memoryAfterSessions(stack, target);
    figures.push({
      name: 'answers that came twice',
      value: sink.doubled,
      unit: '',
      goal: { value: 0, good: 'at most' },
    });
  } finally {
    await stack.stop();
    model.stop();
    await sink.close();
  }
}

async function idle(): Promise<void> {
  const sink = await startBenchSink();
  const config = join(home, 'idle.yaml');
  // No model with a protocol: what the stack at rest does not need is not loaded.
  const routes = {
    bench: { prompt: '{pull_request.title}', deliver: 'http', deliver_extra: { url: sink.url } },
  };
  await writeFile(
    config,
    stringify({
      secret: SECRET,
      limits: { rate_limit: 0 },
      models: { demo: { provider: 'builtin', model: 'echo' } },
      agents: { default: { model: 'demo' } },
      targets: { http: { allow_private_networks: true } },
      routes,
    }),
  );
  try {
    const target = { secret: SECRET, sink, route: 'bench' };
    figures.push(
      ...(await benchIdle({ dataDir: join(home, 'idle'), config, port: await freePort(), target, say })),
    );
  } finally {
    await sink.close();
  }
}

async function bareServer(): Promise<number> {
  say('a bare server that only checks the HMAC');
  const server = await forked('./bare-server.ts', SECRET);
  const load = { url: server.url, secret: SECRET, connections: CONNECTIONS };
  await postLoad({ ...load, seconds: 2 });
  const result = await postLoad({ ...load, seconds: quick ? 3 : 8 });
  server.stop();
  figures.push({ name: 'bare server', value: result.perSecond, unit: 'requests/s' });
  return result.perSecond;
}

/** Waits until the sessions of this part are done, so that their load does not distort the next part. */
async function ingest(stack: Stack, bare: number): Promise<void> {
  // The relay and the projection run, led by ingress: they are part of the cost of an accepted webhook.
  say('ingest: 1 KB signed POST to 202, runner and delivery held');
  const others = ['agent-runner', 'delivery'];
  for (const name of others) await stack.hold(name);
  const load = { url: stack.url, secret: SECRET, connections: CONNECTIONS };
  await postLoad({ ...load, seconds: 2 });
  const result = await postLoad({ ...load, seconds: quick ? 3 : 8 });
  const full = await postLoad({ ...load, route: 'bench-full', seconds: quick ? 3 : 8 });
  for (const [what, measured] of [
    ['ingest', result],
    ['ingest with filters, templates and a rate limit', full],
  ] as const) {
    figures.push({
      name: `${what}, of the bare server`,
      value: measured.perSecond / bare,
      unit: '',
      floor: { name: 'bare requests/s', value: bare },
      goal: { value: 0.35, good: 'at least' },
    });
  }
  figures.push({ name: 'ingest', value: result.perSecond, unit: 'webhooks/s' });
  figures.push({ name: 'ingest p99', value: result.p99, unit: 'ms' });
  figures.push({
    name: 'ingest refused',
    value: result.refused + full.refused,
    unit: '',
    goal: { value: 0, good: 'at most' },
  });
  for (const name of others) await stack.resume(name);
  say('waiting for the ingested sessions');
  await settled(stack);
}

async function relay(stack: Stack): Promise<void> {
  say('relay lag at 1,000 events/s');
  const lag = await relayLag({ ...stack, rate: 1_000, seconds: quick ? 5 : 15 });
  figures.push({ name: 'relay lag p50 at 1,000 events/s', value: lag.p50, unit: 'ms' });
  figures.push({
    name: 'relay lag p99 at 1,000 events/s',
    value: lag.p99,
    unit: 'ms',
    goal: { value: 50, good: 'at most' },
  });
  figures.push({
    name: 'hints that never came',
    value: lag.missing,
    unit: '',
    goal: { value: 0, good: 'at most' },
  });
}

/** Whole sessions at a rate that leaves the machine half idle: how long a user waits, and where the time goes. */
async function latency(stack: Stack, target: SessionsTarget): Promise<void> {
  for (const { route, name } of PROTOCOLS) {
    say(`POST to sink at 50 sessions/s: ${name}`);
    const ofRoute = { ...target, route };
    await latencyAtRate(ofRoute, { rate: 50, seconds: 3 });
    const [since, cpu] = [await logTime(stack.databaseUrl), cpuSeconds(stack)];
    const result = await latencyAtRate(ofRoute, { rate: 50, seconds: quick ? 5 : 20 });
    const used = cpuBetween(cpu, cpuSeconds(stack));
    figures.push({
      name: `POST to sink p50 at 50/s, ${name}`,
      value: result.p50,
      unit: 'ms',
      goal: { value: 15, good: 'at most' },
    });
    figures.push({
      name: `POST to sink p99 at 50/s, ${name}`,
      value: result.p99,
      unit: 'ms',
      goal: { value: 60, good: 'at most' },
    });
    for (const { name: handover, p50, p99 } of await handoversSince(stack.databaseUrl, since)) {
      figures.push({ name: `  ${handover}, p50`, value: p50, unit: 'ms' });
      figures.push({ name: `  ${handover}, p99`, value: p99, unit: 'ms' });
    }
    cpuFigures(used, result.sessions);
    figures.push({
      name: `sessions lost at 50/s, ${name}`,
      value: result.lost,
      unit: '',
      goal: { value: 0, good: 'at most' },
    });
  }
}

async function sessions(stack: Stack, target: SessionsTarget, bare: number): Promise<void> {
  for (const { route, name } of PROTOCOLS) {
    say(`whole sessions: POST, ${name}, answer at the sink`);
    const ofRoute = { ...target, route };
    await sessionsPerSecond(ofRoute, { sessions: 500, inFlight: IN_FLIGHT });
    const cpu = cpuSeconds(stack);
    const count = quick ? 2_000 : 8_000;
    const result = await sessionsPerSecond(ofRoute, { sessions: count, inFlight: IN_FLIGHT });
    const used = cpuBetween(cpu, cpuSeconds(stack));
    figures.push({
      name: `whole sessions/s, of the bare server, ${name}`,
      value: result.perSecond / bare,
      unit: '',
      floor: { name: 'bare requests/s', value: bare },
    });
    figures.push({ name: `whole sessions, ${name}`, value: result.perSecond, unit: 'sessions/s' });
    figures.push({ name: `whole sessions p50 under full load, ${name}`, value: result.p50, unit: 'ms' });
    cpuFigures(used, count);
    figures.push({
      name: `sessions lost, ${name}`,
      value: result.lost,
      unit: '',
      goal: { value: 0, good: 'at most' },
    });
  }
}

function cpuFigures(used: Readonly<Record<string, number>>, sessions: number): void {
  const perThousand = (seconds: number) => (seconds * 1000) / sessions;
  const total = Object.values(used).reduce((sum, seconds) => sum + seconds, 0);
  figures.push({ name: '  CPU of 1,000 sessions', value: perThousand(total), unit: 's' });
  for (const [name, seconds] of Object.entries(used))
    figures.push({ name: `    ${name}`, value: perThousand(seconds), unit: 's' });
}

async function deliveries(stack: Stack): Promise<void> {
  say('deliveries to a local http sink, of one session and of many');
  const rates = await benchDeliveries(stack, { ofOne: quick ? 200 : 500, sessions: quick ? 1_500 : 6_000 });
  const floor = { name: 'bare POSTs/s', value: rates.bare };
  figures.push({ name: 'deliveries of many sessions', value: rates.manySessions, unit: '/s', floor });
  figures.push({ name: 'deliveries of one session, in order', value: rates.oneSession, unit: '/s' });
  figures.push({
    name: 'outputs that were sent twice',
    value: rates.surplus,
    unit: '',
    goal: { value: 0, good: 'at most' },
  });
}

async function idleMemory(stack: Stack): Promise<void> {
  for (const name of SERVICES) {
    figures.push({
      name: `${name} idle`,
      value: await memoryOf(stack, name),
      unit: 'MB',
      goal: { value: 160, good: 'at most' },
    });
  }
}

async function memoryAfterSessions(stack: Stack, target: SessionsTarget): Promise<void> {
  say('memory after 2,000 and after 20,000 sessions');
  await sessionsPerSecond(target, { sessions: 2_000, inFlight: IN_FLIGHT });
  const before = await Promise.all(SERVICES.map((name) => memoryOf(stack, name)));
  await sessionsPerSecond(target, { sessions: quick ? 4_000 : 18_000, inFlight: IN_FLIGHT });
  for (const [index, name] of SERVICES.entries()) {
    const floor = before[index] ?? Number.NaN;
    figures.push({
      name: `${name} after 20,000 sessions, of after 2,000`,
      value: (await memoryOf(stack, name)) / floor,
      unit: '',
      floor: { name: 'MB after 2,000', value: floor },
      goal: { value: 1.15, good: 'at most' },
    });
  }
}

function memoryOf(stack: Stack, name: string): Promise<number> {
  const pid = stack.pidOf(name);
  if (pid === null) throw new Error(`${name} is not running`);
  return residentMegabytes(pid);
}

/** Asks the API until no session is open. */
async function settled(stack: Stack): Promise<void> {
  const deadline = Date.now() + 300_000;
  for (const status of ['queued', 'running']) {
    for (;;) {
      const answer = await fetch(`${stack.url}/v1/sessions?status=${status}&limit=1`, {
        headers: { authorization: `Bearer ${stack.adminToken}` },
      });
      const { items } = (await answer.json()) as { items: unknown[] };
      if (items.length === 0) break;
      if (Date.now() > deadline) throw new Error('the ingested sessions were not done within 5 minutes');
      await pause(500);
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

/** Starts a program of the bench as a separate process that listens on a free port. */
async function forked(program: string, ...args: string[]): Promise<{ url: string; stop(): void }> {
  const port = await freePort();
  const child = fork(new URL(program, import.meta.url), [String(port), ...args]);
  await new Promise((resolve) => child.once('message', resolve));
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

function benchConfig(sinkUrl: string, modelUrl: string): string {
  return stringify({
    secret: SECRET,
    limits: { rate_limit: 0 },
    models: {
      demo: { provider: 'builtin', model: 'echo' },
      stream: {
        provider: 'openai-compatible',
        base_url: `${modelUrl}/stream/v1`,
        model: 'stub',
        api_key: 'k',
      },
      whole: { provider: 'openai-compatible', base_url: `${modelUrl}/whole/v1`, model: 'stub', api_key: 'k' },
    },
    agents: { default: { model: 'demo' }, stream: { model: 'stream' }, whole: { model: 'whole' } },
    targets: { http: { allow_private_networks: true } },
    routes: {
      bench: {
        prompt: 'PR #{number}: {pull_request.title}',
        deliver: 'http',
        deliver_extra: { url: sinkUrl },
      },
      ...Object.fromEntries(
        ['stream', 'whole'].map((agent) => [
          `bench-${agent}`,
          { agent, prompt: '{pull_request.title}', deliver: 'http', deliver_extra: { url: sinkUrl } },
        ]),
      ),
      // A route of a careful operator: several events, filters of each kind, templates everywhere, a limit.
      'bench-full': {
        events: ['push', 'pull_request', 'bench'],
        filters: [
          { field: 'action', in: ['opened', 'synchronize'] },
          { field: 'pull_request.title', regex: '^[A-Z][a-z]+$' },
          { not: { field: 'pull_request.draft', equals: true } },
          { field: 'headers.X-GitHub-Event', exists: true },
        ],
        title: '{action} #{number}',
        prompt: 'Review {pull_request.title} ({pull_request.head}):\n{pull_request.body}',
        rate_limit: 100_000_000,
        deliver: 'http',
        deliver_extra: { url: sinkUrl, headers: { 'x-number': '{number}' } },
      },
    },
  });
}
