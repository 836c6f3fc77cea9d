import { createHmac } from 'node:crypto';
import { pause } from '@angelia/waiting';
import { Pool } from 'undici';
import { quantile } from './quantile.ts';

export interface SignedPost {
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** A webhook of 1 KB, the size of all figures: with a unique body, signed as GitHub does. */
export function signedPost(secret: string, deliveryId: string): SignedPost {
  const body = JSON.stringify({
    action: 'opened',
    number: 7,
    pull_request: { title: 'Bench', head: deliveryId, body: 'x'.repeat(900) },
  });
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'bench',
      'x-github-delivery': deliveryId,
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
  };
}

export interface LoadResult {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly accepted: number;
  readonly refused: number;
}

/**
 * undici, the leanest client for Node, for all rates (bare server, ingest, whole sessions). On two cores the client is a large
 * part of each. Node's own `http` halves the bare server's rate, so every ratio to it would look too good.
 */
export class Client {
  readonly #pool: Pool;
  readonly #path: string;

  constructor(url: string, connections: number, route = 'bench') {
    this.#pool = new Pool(url, { connections, pipelining: 1 });
    this.#path = `/webhooks/${route}`;
  }

  /** The status of the answer. */
  async post({ body, headers }: SignedPost): Promise<number> {
    const answer = await this.#pool.request({ method: 'POST', path: this.#path, headers, body });
    await answer.body.dump();
    return answer.statusCode;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

let run = 0;

/** Closed loop: as many requests in flight as there are connections. */
export async function postLoad(options: {
  readonly url: string;
  readonly secret: string;
  readonly seconds: number;
  readonly connections: number;
  readonly route?: string;
}): Promise<LoadResult> {
  const client = new Client(options.url, options.connections, options.route);
  const prefix = `post-${process.pid}-${run++}-`;
  const latencies: number[] = [];
  let sent = 0;
  let refused = 0;
  const begun = performance.now();
  const end = begun + options.seconds * 1000;
  const worker = async () => {
    for (let now = performance.now(); now < end; now = performance.now()) {
      const status = await client.post(signedPost(options.secret, `${prefix}${sent++}`));
      if (status === 202) latencies.push(performance.now() - now);
      else refused += 1;
    }
  };
  await Promise.all(Array.from({ length: options.connections }, worker));
  const seconds = (performance.now() - begun) / 1000;
  await client.close();
  return {
    perSecond: latencies.length / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    accepted: latencies.length,
    refused,
  };
}

/** Open loop at a steady rate: how long a sender waits for the 202 when the machine is not saturated. */
export async function postAtRate(options: {
  readonly url: string;
  readonly secret: string;
  readonly rate: number;
  readonly seconds: number;
}): Promise<{ readonly p50: number; readonly p99: number }> {
  const client = new Client(options.url, 32);
  const prefix = `rate-${process.pid}-${run++}-`;
  const begun = performance.now();
  const pending: Promise<number>[] = [];
  for (let i = 0; i < options.rate * options.seconds; i++) {
    const due = begun + (i * 1000) / options.rate;
    const wait = due - performance.now();
    if (wait > 0) await pause(wait);
    const posted = performance.now();
    pending.push(
      client.post(signedPost(options.secret, `${prefix}${i}`)).then((status) => {
        if (status !== 202) throw new Error(`POST answered ${status} instead of 202`);
        return performance.now() - posted;
      }),
    );
  }
  const latencies = await Promise.all(pending);
  await client.close();
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}
