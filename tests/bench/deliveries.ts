import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SessionFact } from '@angelia/contracts';
import { type EventLog, openEventLog } from '@angelia/event-log';
import type { Stack } from '@angelia/local';
import { Pool } from 'undici';

/** As many connections as delivery has per destination. The baseline is a client that only sends to the same sink. */
const CONNECTIONS = 64;
/** After this time the bench stops, even if outputs are missing. */
const GIVE_UP_MS = 120_000;
const APPENDS_AT_ONCE = 256;

export interface DeliveryRates {
  /** One after the other, because outputs of a session keep their order. */
  readonly oneSession: number;
  readonly manySessions: number;
  /** POSTs of the same size to the same sink, without any record. */
  readonly bare: number;
  /** Requests beyond the number of outputs. */
  readonly surplus: number;
}

/**
 * Puts outputs into the log while delivery is stopped. The time counts from the first to the last output at the sink, so that
 * the start of the process does not count.
 */
export async function benchDeliveries(
  stack: Stack,
  options: { readonly ofOne: number; readonly sessions: number },
): Promise<DeliveryRates> {
  const sink = await startCountingSink();
  const log = openEventLog({ url: stack.databaseUrl, instance: 'bench', holder: 'bench#deliveries' });
  try {
    const bare = await barePosts(sink, options.sessions);
    // Warm up: the first deliveries of a new process are slower.
    await delivered(stack, log, sink, sessionsOf(200, 1, sink.url));
    const manySessions = await delivered(stack, log, sink, sessionsOf(options.sessions, 1, sink.url));
    const oneSession = await delivered(stack, log, sink, sessionsOf(1, options.ofOne, sink.url));
    return { oneSession, manySessions, bare, surplus: sink.surplus };
  } finally {
    await log.close();
    await sink.close();
  }
}

interface CountingSink {
  readonly url: string;
  readonly surplus: number;
  /** Outputs per second, from the first to the last of the next `count` requests. */
  rateOf(count: number): Promise<number>;
  close(): Promise<void>;
}

async function startCountingSink(): Promise<CountingSink> {
  let wanted = 0;
  let seen = 0;
  let surplus = 0;
  let first = 0;
  let onLast: (rate: number) => void = () => {};
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      response.writeHead(204).end();
      seen += 1;
      if (seen === 1) first = performance.now();
      if (seen === wanted) onLast(((wanted - 1) * 1000) / (performance.now() - first));
      if (seen > wanted) surplus += 1;
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/outputs`,
    get surplus() {
      return surplus;
    },
    rateOf: (count) =>
      new Promise((resolve, reject) => {
        [wanted, seen] = [count, 0];
        const timer = setTimeout(
          () => reject(new Error(`only ${seen} of ${count} outputs reached the sink`)),
          GIVE_UP_MS,
        );
        onLast = (rate) => {
          clearTimeout(timer);
          resolve(rate);
        };
      }),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function barePosts(sink: CountingSink, count: number): Promise<number> {
  const { origin, pathname: path } = new URL(sink.url);
  const pool = new Pool(origin, { connections: CONNECTIONS });
  const body = JSON.stringify({ type: 'final-response', text: TEXT, session_id: randomUUID() });
  const rate = sink.rateOf(count);
  let next = 0;
  const caller = async () => {
    while (next++ < count) {
      const answer = await pool.request({ method: 'POST', path, body });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, caller));
  await pool.close();
  return await rate;
}

async function delivered(
  stack: Stack,
  log: EventLog,
  sink: CountingSink,
  sessions: readonly SessionFact[][],
): Promise<number> {
  await stack.hold('delivery');
  for (let at = 0; at < sessions.length; at += APPENDS_AT_ONCE) {
    await Promise.all(sessions.slice(at, at + APPENDS_AT_ONCE).map((facts) => append(log, facts)));
  }
  const outputs = sessions.flat().filter(({ type }) => OUTPUTS.has(type)).length;
  const rate = sink.rateOf(outputs);
  await stack.resume('delivery');
  return await rate;
}

async function append(log: EventLog, facts: readonly SessionFact[]): Promise<void> {
  const streamId = newSessionId();
  const events = facts.map(({ type, data }) => ({
    eventId: randomUUID(),
    type,
    data,
    meta: { actor: 'bench', correlation: streamId },
  }));
  const result = await log.append({ streams: [{ streamId, expectedVersion: 0, events }] });
  if (result.status !== 'appended') throw new Error(`an append of the bench ended as ${result.status}`);
}

/** uuid v7, as in the services. */
function newSessionId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

const TEXT = 'The change is fine; two remarks below.\n'.repeat(8);
const OUTPUTS: ReadonlySet<string> = new Set(['session.interim-status', 'session.final-response']);

/** Sessions after their run, each with this many outputs. The last output is the answer. */
function sessionsOf(count: number, outputs: number, url: string): SessionFact[][] {
  return Array.from({ length: count }, (_, n): SessionFact[] => [
    {
      type: 'session.created',
      data: {
        route: 'bench',
        event: 'bench',
        delivery_id: `d-${n}`,
        title: 'a session',
        agent: 'default',
        toolsets: null,
        skills: [],
        deliver: { target: 'http', to: { url }, untrusted_address: false },
        fallback_target: null,
        interim: 'message',
        deliver_only: false,
        session_key: null,
        continues: null,
        start_after: null,
        queue_deadline: null,
        max_concurrency: null,
      },
    },
    {
      type: 'turn.requested',
      data: {
        turn: 1,
        source: 'webhook',
        input: TEXT,
        start_after: null,
        queue_deadline: null,
        delivery_id: null,
        notice: null,
        history: [],
      },
    },
    {
      type: 'run.started',
      data: { generation: 1, turn: 1, runner: 'bench', resumed: false, attempt: 1 },
    },
    ...Array.from(
      { length: outputs - 1 },
      (_status, sequence): SessionFact => ({
        type: 'session.interim-status',
        data: { generation: 1, turn: 1, sequence: sequence + 1, kind: 'progress', text: TEXT },
      }),
    ),
    {
      type: 'session.final-response',
      data: { generation: 1, turn: 1, outcome: 'succeeded', text: TEXT, silent: false },
    },
    { type: 'session.ended', data: { outcome: 'succeeded', reason: 'webhook_complete', detail: null } },
  ]);
}
