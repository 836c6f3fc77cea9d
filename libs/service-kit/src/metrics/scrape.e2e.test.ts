import { serviceNames } from '@angelia/config';
import {
  answer,
  callTool,
  eventually,
  fail,
  type ModelServer,
  type Sink,
  say,
  startModelServer,
  startSink,
  startTelegram,
  startTestStack,
  TEST_SINK_SECRET,
  type TelegramStandIn,
  type TestStack,
  testConfig,
  testRoute,
} from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { allMetrics } from './catalogue.ts';
import { PROMETHEUS_CONTENT_TYPE } from './prometheus-text.ts';

// What Prometheus sees of a running stack without OTLP: every declared metric, from the services that declare it, and
// nothing of the content of a session.

const BOT_TOKEN = '4711:test-bot-token';

let sink: Sink;
let telegram: TelegramStandIn;
let model: ModelServer;
let stack: TestStack;
let sessionId: string;
/** What each service reported after that session. A later test kills one of them, and its counts are lost. */
let byService: Readonly<Record<string, Sample[]>>;

beforeAll(async () => {
  [sink, model, telegram] = await Promise.all([
    startSink({ secret: TEST_SINK_SECRET }),
    startModelServer(),
    startTelegram({ token: BOT_TOKEN }),
  ]);
  stack = await startTestStack({
    config: testConfig({
      sinkUrl: sink.url,
      modelUrl: model.baseUrl,
      models: {
        spare: { provider: 'openai-compatible', base_url: model.baseUrl, model: 'm2', api_key: 'test-key' },
      },
      // Statuses are not sent, so that the retried output is the answer.
      routes: {
        hook: testRoute(sink.url, { interim: 'off' }),
        asks: testRoute(sink.url, { tools: { policy: [{ tool: 'terminal', do: 'ask' }] } }),
      },
      agent: { toolsets: ['terminal'], fallback_models: ['spare'] },
      targets: { telegram: { bot_token: BOT_TOKEN, api_base: telegram.url } },
      extra: {
        chats: {
          home: { platform: 'telegram', receive: 'connection', speakers: { users: ['1'] }, agent: 'default' },
        },
      },
    }),
  });
  // A call that a person denies.
  model.next(callTool('terminal', { command: 'true' }), say('not allowed'));
  const asking = await stack.post({ route: 'asks', body: { text: 'may I' } });
  const approval = await eventually(async () => {
    const { items } = await stack.adminGet<{ items: { id: string }[] }>('/v1/approvals');
    return items[0];
  });
  await fetch(new URL(`/v1/approvals/${approval.id}`, stack.baseUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ decision: 'deny' }),
  });
  await stack.waitForEnd(asking.sessionId, { settled: true });
  // A fallback, a tool, a status, a retried delivery: one session of everything.
  model.next(fail(400), callTool('terminal', { command: 'true' }), say('done'));
  sink.next(answer(503));
  const deliveryId = 'delivery-id-of-the-sender';
  ({ sessionId } = await stack.post({ body: { text: 'a private sentence' }, deliveryId }));
  await stack.waitForEnd(sessionId, { settled: true });
  expect((await stack.post({ body: { text: 'a private sentence' }, deliveryId })).status).toBe(200);
  expect((await stack.post({ body: { text: 'x' }, secret: 'wrong' })).status).toBe(401);
  for (let n = 0; n < 20; n += 1) await stack.post({ route: `scan-${n}`, body: {} });
  telegram.inbox.say({ chat: 2, from: { id: 2 }, text: 'a private word of a stranger' });
  await eventually(async () => sum(await everywhere(), 'angelia_chat_updates_total') === 1, {
    describe: 'the update of the chat counted',
  });
  // The projection may be a moment behind.
  await eventually(async () => sum(await everywhere(), 'angelia_time_to_delivered_seconds_count') === 2, {
    describe: 'the deliveries counted',
  });
  byService = Object.fromEntries(
    await Promise.all(serviceNames.map(async (name) => [name, await samplesOf(name)] as const)),
  );
});

afterAll(async () => {
  await stack?.stop();
  await Promise.all([sink?.stop(), model?.stop(), telegram?.stop()]);
});

interface Sample {
  readonly name: string;
  readonly labels: string;
  readonly value: number;
}

async function samplesOf(service: string): Promise<Sample[]> {
  const { type, text } = await stack.scrape(service);
  expect(type).toBe(PROMETHEUS_CONTENT_TYPE);
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name, labels = '', value] = /^([a-z_]+)(\{.*\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined || value === undefined) throw new Error(`${service}: ${line}`);
      return { name, labels, value: Number(value) };
    });
}

const sum = (samples: readonly Sample[], name: string, ...labels: readonly string[]) =>
  samples
    .filter((sample) => sample.name === name && labels.every((label) => sample.labels.includes(label)))
    .reduce((total, { value }) => total + value, 0);

const everywhere = async () => (await Promise.all(serviceNames.map(samplesOf))).flat();

describe('/metrics', () => {
  it('has every declared metric, from the services that declare it', () => {
    const missing = allMetrics.flatMap(({ kind, definition: { name, from } }) => {
      const sample = kind === 'histogram' ? `${name}_count` : name;
      const has = (service: string) => byService[service]?.some((one) => one.name === sample) ?? false;
      const exporters = from.includes('every service') ? serviceNames : from;
      return exporters.flatMap((exporter) => {
        const there = exporter === 'leader' ? serviceNames.some(has) : has(exporter);
        return there ? [] : [`${name} of ${exporter}`];
      });
    });
    expect(missing).toEqual([]);
    const known = new Set(allMetrics.map(({ definition }) => definition.name));
    const undeclared = Object.values(byService)
      .flat()
      .filter(({ name }) => !known.has(name) && !known.has(name.replace(/_(bucket|sum|count)$/, '')));
    expect(undeclared).toEqual([]);
  });

  it('counts what happened', () => {
    const samples = Object.values(byService).flat();
    const counted = (name: string, ...labels: string[]) => sum(samples, name, ...labels);
    expect(counted('angelia_webhooks_total', 'route="hook"', 'outcome="accepted"')).toBe(1);
    expect(counted('angelia_webhooks_total', 'route="hook"', 'outcome="duplicate"')).toBe(1);
    expect(counted('angelia_webhooks_total', 'outcome="unauthorized"')).toBe(1);
    expect(counted('angelia_webhooks_total', 'route="(unknown)"', 'outcome="unknown_route"')).toBe(20);
    expect(counted('angelia_chat_updates_total', 'platform="telegram"', 'outcome="stranger"')).toBe(1);
    expect(counted('angelia_chat_update_seconds_count', 'platform="telegram"')).toBe(1);
    expect(counted('angelia_chat_down', 'platform="telegram"')).toBe(0);
    expect(counted('angelia_time_to_start_seconds_count', 'route="hook"')).toBe(1);
    expect(counted('angelia_time_to_first_status_seconds_count', 'route="hook"')).toBe(1);
    expect(counted('angelia_time_to_final_seconds_count', 'route="hook"')).toBe(1);
    expect(counted('angelia_runs_total', 'agent="default"', 'outcome="succeeded"')).toBe(2);
    expect(counted('angelia_approval_seconds_count', 'outcome="denied"')).toBe(1);
    expect(counted('angelia_steps_total', 'outcome="tools"')).toBe(2);
    expect(counted('angelia_tool_calls_total', 'tool="terminal"', 'outcome="ok"')).toBe(1);
    expect(counted('angelia_model_call_seconds_count', 'model="main"', 'outcome="refused"')).toBe(1);
    expect(counted('angelia_model_call_seconds_count', 'model="spare"', 'outcome="ok"')).toBe(2);
    expect(counted('angelia_model_fallbacks_total', 'model="spare"')).toBe(1);
    expect(counted('angelia_model_tokens_total', 'model="spare"', 'direction="output"')).toBeGreaterThan(0);
    const delivery = (outcome: string, attempt: number) =>
      counted('angelia_deliveries_total', 'target="http"', `outcome="${outcome}"`, `attempt="${attempt}"`);
    expect(delivery('failed', 1)).toBe(1);
    expect(delivery('delivered', 2)).toBe(1);
    for (const duty of ['relay', 'projection', 'agenda', 'jobs', 'prune', 'views'])
      expect(counted('angelia_leading', `duty="${duty}"`)).toBe(1);
    expect(counted('angelia_sessions')).toBe(0);
    expect(samples.filter(({ name }) => name === 'angelia_relay_lag_seconds')).toHaveLength(1);
  });

  it('holds no id, no address and no word of a session, and is not on the public port', async () => {
    const texts = await Promise.all(serviceNames.map(async (name) => (await stack.scrape(name)).text));
    for (const secret of [sessionId, 'delivery-id-of-the-sender', 'private', 'scan-', '127.0.0.1', 'http://'])
      expect(texts.join('')).not.toContain(secret);
    const response = await fetch(new URL('/metrics', stack.baseUrl));
    expect(response.status).toBe(404);
  });

  it('counts on after its leader is killed, each session once', async () => {
    const delivered = 'angelia_time_to_delivered_seconds_count';
    const leads = async (name: string) =>
      sum(await samplesOf(name), 'angelia_leading', 'duty="projection"') === 1;
    const leader = await eventually(
      async () => {
        for (const name of serviceNames) if (await leads(name)) return name;
        return false;
      },
      { describe: 'a leader' },
    );
    // The counts of the others stay. Prometheus remembers the counts of the killed one.
    const others = serviceNames.filter((name) => name !== leader);
    const kept = sum((await Promise.all(others.map(samplesOf))).flat(), delivered);
    await stack.restarted(leader, stack.kill(leader));
    await eventually(() => stack.ready(leader).catch(() => false), { describe: `${leader} is back` });
    model.next(say('after the kill'));
    const { sessionId: next } = await stack.post({ body: { text: 'x' } });
    await stack.waitForEnd(next, { settled: true });
    const samples = await eventually(
      async () => {
        const found = await everywhere();
        return (
          sum(found, 'angelia_leading', 'duty="projection"') === 1 && sum(found, delivered) > kept && found
        );
      },
      { describe: 'the session counted by the next leader' },
    );
    expect(sum(samples, delivered)).toBe(kept + 1);
    expect(sum(samples, 'angelia_time_to_start_seconds_count')).toBe(kept + 1);
  });
});
