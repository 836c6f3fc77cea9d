import { pause } from '@angelia/waiting';
import { Client, signedPost } from './load.ts';
import { quantile } from './quantile.ts';
import type { BenchSink } from './sink.ts';

export interface SessionsTarget {
  readonly url: string;
  readonly secret: string;
  readonly route: string;
  readonly sink: BenchSink;
}

/** A session that has not reached the sink by then counts as lost, and the bench stops. */
const GIVE_UP_MS = 60_000;

let run = 0;

/** Closed loop: `inFlight` sessions are between POST and sink at any time. */
export async function sessionsPerSecond(
  target: SessionsTarget,
  options: { readonly sessions: number; readonly inFlight: number },
): Promise<{ perSecond: number; p50: number; p99: number; lost: number }> {
  const client = new Client(target.url, 64, target.route);
  const prefix = `whole-${process.pid}-${run++}-`;
  const latencies: number[] = [];
  let next = 0;
  let lost = 0;
  const begun = performance.now();
  const worker = async () => {
    while (next < options.sessions) {
      const took = await oneSession(client, target, `${prefix}${next++}`);
      if (took === undefined) lost += 1;
      else latencies.push(took);
    }
  };
  await Promise.all(Array.from({ length: options.inFlight }, worker));
  const seconds = (performance.now() - begun) / 1000;
  await client.close();
  return {
    perSecond: latencies.length / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    lost,
  };
}

/** Open loop at a steady rate: how long a user waits when the machine is not saturated. */
export async function latencyAtRate(
  target: SessionsTarget,
  options: { readonly rate: number; readonly seconds: number },
): Promise<{ p50: number; p99: number; max: number; sessions: number; lost: number }> {
  const client = new Client(target.url, 16, target.route);
  const prefix = `paced-${process.pid}-${run++}-`;
  const total = options.rate * options.seconds;
  const begun = performance.now();
  const pending: Promise<number | undefined>[] = [];
  for (let i = 0; i < total; i++) {
    const wait = begun + (i * 1000) / options.rate - performance.now();
    if (wait > 0) await pause(wait);
    pending.push(oneSession(client, target, `${prefix}${i}`));
  }
  const latencies = (await Promise.all(pending)).filter((took) => took !== undefined);
  await client.close();
  return {
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    max: quantile(latencies, 1),
    sessions: total,
    lost: total - latencies.length,
  };
}

/** Milliseconds from the POST to the answer's arrival at the sink. */
async function oneSession(client: Client, target: SessionsTarget, id: string): Promise<number | undefined> {
  const arrival = target.sink.arrived(id);
  const begun = performance.now();
  const status = await client.post(signedPost(target.secret, id));
  if (status !== 202) throw new Error(`POST answered ${status} instead of 202`);
  const giveUp = AbortSignal.timeout(GIVE_UP_MS);
  const at = await Promise.race([
    arrival,
    new Promise<undefined>((resolve) => giveUp.addEventListener('abort', () => resolve(undefined))),
  ]);
  return at === undefined ? undefined : at - begun;
}
