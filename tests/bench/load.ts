import { createHmac } from 'node:crypto';
import { Pool } from 'undici';
import { quantile } from './quantile.ts';

export interface SignedPost {
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** A webhook of 1 KB, as the figures are given for: a body of its own, signed as GitHub does. */
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

let run = 0;

/**
 * Closed loop over keep-alive connections. The same client as for whole sessions, so that all three rates (bare server,
 * ingest, sessions) share its cost: on two cores the client is a good part of each.
 */
export async function postLoad(options: {
  readonly url: string;
  readonly secret: string;
  readonly seconds: number;
  readonly connections: number;
}): Promise<LoadResult> {
  const pool = new Pool(options.url, { connections: options.connections });
  const prefix = `post-${process.pid}-${run++}-`;
  const latencies: number[] = [];
  let sent = 0;
  let refused = 0;
  const begun = performance.now();
  const end = begun + options.seconds * 1000;
  const worker = async () => {
    for (let now = performance.now(); now < end; now = performance.now()) {
      const { body, headers } = signedPost(options.secret, `${prefix}${sent++}`);
      const answer = await pool.request({ method: 'POST', path: '/webhooks/bench', headers, body });
      await answer.body.dump();
      if (answer.statusCode === 202) latencies.push(performance.now() - now);
      else refused += 1;
    }
  };
  await Promise.all(Array.from({ length: options.connections }, worker));
  const seconds = (performance.now() - begun) / 1000;
  await pool.close();
  return {
    perSecond: latencies.length / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    accepted: latencies.length,
    refused,
  };
}
