import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Stack, startStack } from '@angelia/local';
import { type ModelServer, startModelServer } from '@angelia/testkit';
import { startTestBrowser, type TestBrowser } from '@angelia/testkit/browser';
import { pause } from '@angelia/waiting';
import { stringify } from 'yaml';
import { cpuBetween, cpuSeconds } from '../cpu.ts';
import { postAtRate } from '../load.ts';
import { quantile } from '../quantile.ts';
import type { Figure } from '../report.ts';
import { startBenchSink } from '../sink.ts';
import { fillStack } from './fill-stack.ts';
import { shownAfter } from './live-session.ts';
import { longSession } from './long-session.ts';
import {
  coldVisit,
  LONG_FRAME_MS,
  paintedAfter,
  type Scrolled,
  scriptsOfFirstVisit,
  scrollThrough,
} from './page.ts';

/** `page` and `live`: what a browser does. `rest` and `ingest`: what open consoles cost. */
export const CONSOLE_STEPS = ['page', 'live', 'rest', 'ingest'] as const;

interface ConsoleOptions {
  readonly home: string;
  readonly steps: ReadonlySet<(typeof CONSOLE_STEPS)[number]>;
  readonly quick: boolean;
  readonly say: (line: string) => void;
}

const SECRET = 'bench-secret';
const CONSOLES = 20;
const LONG_EVENTS = 5_000;
/** A rate that leaves the machine half idle, so that the p99 is not the length of a queue. */
const RATE = 100;

/** The console in a real Chromium before a real stack that holds many sessions, and what 20 open consoles cost. */
export async function benchConsole({ home, steps, quick, say }: ConsoleOptions): Promise<Figure[]> {
  const sessions = quick ? 10_000 : 100_000;
  say(`console: a stack with ${sessions} sessions`);
  const dataDir = await fillStack(home, sessions);
  const [sink, model] = [await startBenchSink(), await startModelServer()];
  const config = join(home, 'console.yaml');
  await writeFile(config, stringify(configOf(sink.url, model)), { mode: 0o600 });
  const stack = await startStack({ dataDir, config, port: 0, env: { ANGELIA_LOG_LEVEL: 'warn' } });
  try {
    const figures: Figure[] = [];
    if (steps.has('page')) {
      say(`console: a session of ${LONG_EVENTS} events`);
      const id = await longSession({ stack, model, route: 'long', secret: SECRET, events: LONG_EVENTS });
      const { items } = await get<{ items: unknown[] }>(stack, `/v1/sessions/${id}/events`);
      if (items.length < LONG_EVENTS) throw new Error(`the long session has only ${items.length} events`);
      figures.push(...(await pageFigures(stack, { id, samples: quick ? 3 : 7, say })));
    }
    if (steps.has('live')) figures.push(...(await liveFigures(stack, { model, say })));
    if (steps.has('rest')) figures.push(...(await restFigures(stack, { seconds: quick ? 20 : 60, say })));
    if (steps.has('ingest'))
      figures.push(...(await ingestFigures(stack, { rounds: 5, seconds: quick ? 6 : 12, say })));
    return figures;
  } finally {
    await stack.stop();
    await Promise.all([model.stop(), sink.close()]);
  }
}

function configOf(sinkUrl: string, model: ModelServer) {
  const route = { prompt: '{pull_request.title}', deliver: 'http', deliver_extra: { url: sinkUrl } };
  return {
    secret: SECRET,
    limits: { rate_limit: 0 },
    // The oldest sessions are of 90 days ago. Nothing else should be done than what is measured.
    retention: { sessions_days: 365 },
    models: {
      demo: { provider: 'builtin', model: 'echo' },
      stub: { provider: 'openai-compatible', base_url: model.baseUrl, model: 'm1', api_key: 'key' },
    },
    agents: {
      default: { model: 'demo' },
      long: { kind: 'llm', model: 'stub', toolsets: ['terminal'] },
    },
    targets: { http: { allow_private_networks: true } },
    routes: { bench: route, long: { ...route, agent: 'long' } },
  };
}

async function get<T>(stack: Stack, path: string): Promise<T> {
  const answer = await fetch(new URL(path, stack.url), {
    headers: { authorization: `Bearer ${stack.adminToken}` },
  });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  return (await answer.json()) as T;
}

async function pageFigures(
  stack: Stack,
  { id, samples, say }: { readonly id: string; readonly samples: number; say(line: string): void },
): Promise<Figure[]> {
  const browser = await startTestBrowser(say);
  const place = { url: stack.url, token: stack.adminToken };
  const list = `${stack.url}/console/sessions`;
  try {
    say('console: first visits');
    let bytes = 0;
    await coldVisit(browser, place, async (page) => {
      bytes = await scriptsOfFirstVisit(page, list);
    });
    const rows = await timesPainted(browser, place, { address: list, selector: '[data-row]', samples });
    const opened = await timesPainted(browser, place, {
      address: `${list}/${id}`,
      selector: '.waterfall [id^="step-"]',
      samples,
    });
    say('console: the first page of the list, at the API');
    const pages: number[] = [];
    for (let n = 0; n < 100; n += 1) {
      const start = performance.now();
      await get(stack, '/v1/sessions?limit=50');
      pages.push(performance.now() - start);
    }
    say('console: scrolling through the list');
    let scrolled: Scrolled | undefined;
    await coldVisit(browser, place, async (page) => {
      await page.goto(list);
      await page.locator('[data-row]').first().waitFor();
      scrolled = await scrollThrough(page);
    });
    return [
      atMost('scripts of a first visit to the list, gzipped', bytes / 1_000, 'kB', 200),
      atMost('first rows painted, cold cache, median', quantile(rows, 0.5), 'ms', 1_000),
      { name: '  slowest', value: Math.max(...rows), unit: 'ms' },
      atMost('first page of the list at the API, p99', quantile(pages, 0.99), 'ms', 150),
      { name: '  p50', value: quantile(pages, 0.5), unit: 'ms' },
      ...scrollFigures(scrolled),
      atMost(
        `a session of ${LONG_EVENTS} events opened, cold cache, median`,
        quantile(opened, 0.5),
        'ms',
        1_500,
      ),
      { name: '  slowest', value: Math.max(...opened), unit: 'ms' },
    ];
  } finally {
    await browser.stop();
  }
}

async function liveFigures(
  stack: Stack,
  { model, say }: { readonly model: ModelServer; say(line: string): void },
): Promise<Figure[]> {
  say('console: a session runs while its page is open');
  const browser = await startTestBrowser(say);
  const times: number[] = [];
  try {
    await coldVisit(browser, { url: stack.url, token: stack.adminToken }, async (page) => {
      const asked = { stack, model, route: 'long', secret: SECRET };
      times.push(...(await shownAfter(page, { ...asked, get: (path) => get(stack, path) })));
    });
  } finally {
    await browser.stop();
  }
  return [
    atMost('an event shown after its commit, slowest', Math.max(...times), 'ms', 300),
    { name: '  p50', value: quantile(times, 0.5), unit: 'ms' },
    { name: '  events', value: times.length, unit: '' },
  ];
}

function scrollFigures(scrolled: Scrolled | undefined): Figure[] {
  if (scrolled === undefined) throw new Error('nothing was scrolled');
  const { rows, frames, longFrames, longestInterval, mostCpu } = scrolled;
  return [
    atMost(`frames over ${LONG_FRAME_MS} ms in a scroll`, longFrames.length, '', 0),
    { name: '  rows in the list', value: rows, unit: '' },
    { name: '  frames', value: frames, unit: '' },
    { name: '  longest of them', value: Math.max(0, ...longFrames), unit: 'ms' },
    { name: '  longest time between two frames', value: longestInterval, unit: 'ms' },
    atMost('  most CPU of the page for a step', mostCpu, 'ms', LONG_FRAME_MS),
  ];
}

async function timesPainted(
  browser: TestBrowser,
  place: { readonly url: string; readonly token: string },
  what: { readonly address: string; readonly selector: string; readonly samples: number },
): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < what.samples; n += 1)
    await coldVisit(browser, place, async (page) => {
      times.push(await paintedAfter(page, what.address, what.selector));
    });
  return times;
}

/** What open consoles cost while nothing happens: the CPU of the whole stack with them, less that without. */
async function restFigures(
  stack: Stack,
  { seconds, say }: { readonly seconds: number; say(line: string): void },
): Promise<Figure[]> {
  say(`console: the stack at rest, without and with ${CONSOLES} consoles`);
  await pause(10_000);
  const measure = async () => {
    const before = cpuSeconds(stack);
    await pause(seconds * 1_000);
    return cpuBetween(before, cpuSeconds(stack));
  };
  const share = (used: number) => (used / seconds) * 100;
  const without = await measure();
  const close = await openConsoles(stack);
  await pause(5_000);
  const cost = await measure().finally(close);
  return [
    atMost(
      `CPU of ${CONSOLES} open consoles when nothing happens`,
      share(sum(cost) - sum(without)),
      '% of a core',
      5,
      { name: '% without', value: share(sum(without)) },
    ),
    ...Object.entries(cost).map(([name, used]) => ({
      name: `  ${name}`,
      value: share(used - (without[name] ?? 0)),
      unit: '% of a core',
    })),
  ];
}

/** Rounds alternate, so that noise of the machine hits both. */
async function ingestFigures(
  stack: Stack,
  options: { readonly rounds: number; readonly seconds: number; say(line: string): void },
): Promise<Figure[]> {
  options.say(`console: ingest at ${RATE}/s, without and with ${CONSOLES} consoles`);
  const load = { url: stack.url, secret: SECRET, rate: RATE, seconds: options.seconds };
  const without: number[] = [];
  const withThem: number[] = [];
  await postAtRate({ ...load, seconds: 3 });
  for (let round = 0; round < options.rounds; round += 1) {
    without.push((await postAtRate(load)).p99);
    const close = await openConsoles(stack);
    withThem.push((await postAtRate(load).finally(close)).p99);
  }
  const floor = quantile(without, 0.5);
  return [
    atMost(
      `ingest p99 with ${CONSOLES} open consoles, of without, medians of ${options.rounds} rounds`,
      quantile(withThem, 0.5) / floor,
      '',
      1.1,
      { name: 'ms without', value: floor },
    ),
    {
      name: '  least and most without',
      value: Math.min(...without),
      unit: `to ${Math.max(...without).toFixed(1)} ms`,
    },
    {
      name: '  least and most with',
      value: Math.min(...withThem),
      unit: `to ${Math.max(...withThem).toFixed(1)} ms`,
    },
  ];
}

async function openConsoles(stack: Stack): Promise<() => Promise<void>> {
  const program = new URL('./open-consoles.ts', import.meta.url);
  const child = fork(program, [stack.url, stack.adminToken, String(CONSOLES)]);
  const ended = once(child, 'exit');
  await Promise.race([
    once(child, 'message'),
    ended.then(() => {
      throw new Error('the consoles could not be opened');
    }),
  ]);
  return async () => {
    if (child.exitCode !== null) throw new Error('the consoles ended before the measurement did');
    child.kill();
    await ended;
  };
}

function atMost(
  name: string,
  value: number,
  unit: string,
  goal: number,
  floor?: { readonly name: string; readonly value: number },
): Figure {
  return {
    name,
    value,
    unit,
    ...(floor === undefined ? {} : { floor }),
    goal: { value: goal, good: 'at most' },
  };
}

const sum = (used: Readonly<Record<string, number>>): number =>
  Object.values(used).reduce((total, seconds) => total + seconds, 0);
