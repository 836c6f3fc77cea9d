import { createHmac } from 'node:crypto';
import autocannon from 'autocannon';

/** A 1 KB body, as the figures of the issue are given for. */
export const BODY = JSON.stringify({
  action: 'opened',
  number: 7,
  pull_request: { title: 'Bench', body: 'x'.repeat(900) },
});

export function signature(secret: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

export function webhookHeaders(secret: string, deliveryId: string, body = BODY): Record<string, string> {
  return {
    'content-type': 'application/json',
    'x-github-event': 'bench',
    'x-github-delivery': deliveryId,
    'x-hub-signature-256': signature(secret, body),
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

/** Closed loop over keep-alive connections; every request is a delivery of its own. */
export async function postLoad(options: {
  readonly url: string;
  readonly secret: string;
  readonly seconds: number;
  readonly connections: number;
}): Promise<LoadResult> {
  const prefix = `bench-${process.pid}-${run++}-`;
  let sent = 0;
  const signed = signature(options.secret, BODY);
  const result = await autocannon({
    url: options.url,
    connections: options.connections,
    duration: options.seconds,
    requests: [
      {
        method: 'POST',
        path: '/webhooks/bench',
        body: BODY,
        setupRequest: (request) => ({
          ...request,
          headers: {
            'content-type': 'application/json',
            'x-github-event': 'bench',
            'x-github-delivery': `${prefix}${sent++}`,
            'x-hub-signature-256': signed,
          },
        }),
      },
    ],
  });
  return {
    perSecond: result['2xx'] / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    accepted: result['2xx'],
    refused: result.non2xx + result.errors,
  };
}
