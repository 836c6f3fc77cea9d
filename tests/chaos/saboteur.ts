import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { deleteHintStream, type TestStack } from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { signalTree } from '../e2e/process-tree.ts';
import type { Way } from './failing-network.ts';
import type { Injected } from './history.ts';
import { type Fault, inWords, type Planned, SERVERS, type Server } from './schedule.ts';

/** The connections by service and server. */
export type Ways = ReadonlyMap<string, Readonly<Record<Server, Way>>>;

/** Runs the schedule and records what it did when. It ends every temporary fault in time. */
export async function sabotage(
  schedule: readonly Planned[],
  stack: TestStack,
  ways: Ways,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<Injected[]> {
  const begin = performance.now();
  const injected: Injected[] = [];
  await Promise.all(
    schedule.map(async ({ atMs, fault }) => {
      await pause(begin + atMs - performance.now(), signal);
      if (signal.aborted) return;
      say(`${(atMs / 1000).toFixed(1).padStart(6)} s  ${inWords(fault)}`);
      const from = Date.now();
      const done = await inject(fault, stack, ways, signal).catch(
        (error: unknown) => `not done: ${String(error)}`,
      );
      if (typeof done === 'string') say(`          ${inWords(fault)}: ${done}`);
      else injected.push({ fault, from, until: Date.now() });
    }),
  );
  return injected.sort((a, b) => a.from - b.from);
}

async function inject(fault: Fault, stack: TestStack, ways: Ways, signal: AbortSignal): Promise<void> {
  switch (fault.kind) {
    case 'kill':
      stack.kill(fault.program);
      return;
    case 'kill-everything':
      // A program that is already down counts as killed.
      for (const program of [...ways.keys(), ...SERVERS]) attempt(() => stack.kill(program));
      return;
    case 'restart':
      stack.kill(fault.program, fault.program === 'postgres' ? 'SIGINT' : 'SIGTERM');
      return;
    case 'freeze': {
      const pid = stack.pid(fault.program);
      signalTree(pid, 'SIGSTOP');
      try {
        await pause(fault.forMs, signal);
      } finally {
        signalTree(pid, 'SIGCONT');
      }
      return;
    }
    case 'cut':
      for (const way of waysOf(fault, ways)) way.cut();
      return;
    case 'refuse':
      return during(fault, ways, signal, (way, on) => way.refuse(on));
    case 'delay':
      return during(fault, ways, signal, (way, on) => way.delay(on ? fault.byMs : 0));
    case 'silence':
      return during(fault, ways, signal, (way, on) => way.silence(on));
    case 'delete-stream':
      return deleteHintStream(stack.natsUrl);
    case 'delete-store':
      stack.kill('nats');
      return rm(join(stack.dataDir, 'nats'), { recursive: true, force: true, maxRetries: 5 });
  }
}

type OnTheWay = Extract<Fault, { whose: string; forMs: number }>;

async function during(
  fault: OnTheWay,
  ways: Ways,
  signal: AbortSignal,
  set: (way: Way, on: boolean) => void,
): Promise<void> {
  const concerned = waysOf(fault, ways);
  for (const way of concerned) set(way, true);
  try {
    await pause(fault.forMs, signal);
  } finally {
    for (const way of concerned) set(way, false);
  }
}

function waysOf({ whose, server }: { whose: string; server: Server }, ways: Ways): Way[] {
  return [...ways].filter(([name]) => whose === 'all' || whose === name).map(([, way]) => way[server]);
}

function attempt(what: () => unknown): void {
  try {
    what();
  } catch {
    // It does not run at this moment.
  }
}
