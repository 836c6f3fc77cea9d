import type { EventLog, UnstartedBatch } from '@angelia/event-log';
import { type Logger, webhookCounter } from '@angelia/service-kit';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Refusal } from '../../http/refusal.ts';
import { UnstartedWebhookRecorder } from './unstarted-webhook-recorder.ts';

/** Another test uses a real database. Here it only accepts or refuses a batch. */
function recorder(routes: readonly string[] = ['hook']) {
  const written: UnstartedBatch[][] = [];
  const state = { away: false };
  const log = {
    unstartedWebhooks: {
      record: async (batches: UnstartedBatch[]) => {
        if (state.away) throw new Error('away');
        written.push(batches);
      },
      forgetOld: async () => {},
    },
  } as unknown as EventLog;
  const table = { get: (name: string) => (routes.includes(name) ? ({} as never) : undefined) };
  const lines: Record<string, unknown>[] = [];
  const logger = {
    info: (line: object, msg: string) => lines.push({ ...line, level: 'info', msg }),
    warn: (line: object, msg: string) => lines.push({ ...line, level: 'warn', msg }),
  } as unknown as Logger;
  const counter = webhookCounter();
  const unstarted = new UnstartedWebhookRecorder(log, table, logger, counter);
  /** Route, outcome, how many. */
  const counted = () => [...counter.series].map(({ labels, value }) => [...labels, value]);
  const refuse = (routeName: string, deliveryId: string, why = 'why') =>
    unstarted.refused(
      { routeName, headers: { 'x-github-delivery': deliveryId }, source: '192.0.2.7' },
      new Refusal(401, 'unauthorized', 'no', null, why),
    );
  const ids = (batch: UnstartedBatch | undefined) => batch?.newest.map(({ deliveryId }) => deliveryId);
  return { unstarted, refuse, counted, written, state, ids, lines };
}

describe('webhooks that start no session', () => {
  it('are counted by route and outcome; all names without a route count as one', async () => {
    const { refuse, unstarted, counted } = recorder();
    refuse('hook', 'a');
    for (let n = 0; n < 5_000; n += 1) refuse(`scan-${n}`, 'b');
    unstarted.answered(
      { routeName: 'hook', headers: {}, source: '192.0.2.7' },
      { status: 200, body: { status: 'ignored', reason: 'filter' } },
    );
    expect(counted()).toEqual([
      ['hook', 'unauthorized', 1],
      ['(unknown)', 'unauthorized', 5_000],
      ['hook', 'ignored_filter', 1],
    ]);
    await unstarted.onModuleDestroy();
  });

  it('are told apart from those of routes, even of more routes than the counter has names for', async () => {
    const routes = Array.from({ length: 150 }, (_, n) => `r${n}`);
    const { refuse, unstarted, counted } = recorder(routes);
    for (const route of [...routes, 'scan']) refuse(route, 'x');
    expect(counted().slice(-2)).toEqual([
      ['(other)', 'unauthorized', 51],
      ['(unknown)', 'unauthorized', 1],
    ]);
    await unstarted.onModuleDestroy();
  });

  it('are written together: the newest few of each kind in order, and the count of all', async () => {
    const { refuse, unstarted, written, ids } = recorder();
    for (let n = 1; n <= 12; n += 1) refuse('hook', `d${n}`);
    await unstarted.flush();
    await unstarted.flush();
    expect(written).toHaveLength(1);
    expect(written[0]?.[0]).toMatchObject({ webhooks: 12, route: 'hook' });
    expect(ids(written[0]?.[0])).toEqual(['d8', 'd9', 'd10', 'd11', 'd12']);
    await unstarted.onModuleDestroy();
  });

  it('are held while they cannot be written; none is lost or counted twice', async () => {
    const { refuse, unstarted, written, state, ids } = recorder();
    state.away = true;
    for (let n = 1; n <= 7; n += 1) refuse('hook', `d${n}`);
    await unstarted.flush();
    refuse('hook', 'd8');
    await unstarted.flush();
    refuse('hook', 'd9');
    state.away = false;
    await unstarted.flush();
    expect(written).toHaveLength(1);
    expect(written[0]?.[0]?.webhooks).toBe(9);
    expect(ids(written[0]?.[0])).toEqual(['d5', 'd6', 'd7', 'd8', 'd9']);
    await unstarted.onModuleDestroy();
  });

  it('are held within a bound, for any number of routes and any time', async () => {
    const routes = Array.from({ length: 3_000 }, (_, n) => `r${n}`);
    const { refuse, unstarted, written, state } = recorder(routes);
    state.away = true;
    for (const route of routes) refuse(route, 'x');
    await unstarted.flush();
    for (const route of routes) refuse(route, 'y');
    state.away = false;
    await unstarted.flush();
    const batches = written[0] ?? [];
    expect(batches.length).toBeLessThanOrEqual(2_001);
    expect(batches.reduce((sum, { webhooks }) => sum + webhooks, 0)).toBe(6_000);
    await unstarted.onModuleDestroy();
  });

  it('are written when ingress stops', async () => {
    const { refuse, unstarted, written } = recorder();
    refuse('hook', 'last');
    await unstarted.onModuleDestroy();
    expect(written).toHaveLength(1);
  });

  it('keep at most a line of a sender’s text, and nothing that cannot be stored', async () => {
    const { refuse, unstarted, written } = recorder();
    refuse('hook', `${'x'.repeat(150)}\ud800`, `${'why '.repeat(1_000)}\ud800`);
    await unstarted.flush();
    const kept = written[0]?.[0]?.newest[0];
    expect(kept?.deliveryId?.isWellFormed()).toBe(true);
    expect(kept?.detail).toHaveLength(400);
    expect(kept?.source).toBe('192.0.2.7');
    await unstarted.onModuleDestroy();
  });
});

describe('the log about webhooks that start no session', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('has the first of a kind at once with the reason, then one line a minute with the number', async () => {
    jest.useFakeTimers();
    const { refuse, unstarted, lines } = recorder(['hook', 'other']);
    refuse('hook', 'd1', 'the header X is missing');
    expect(lines).toEqual([
      {
        level: 'warn',
        msg: 'webhook refused',
        route: 'hook',
        outcome: 'unauthorized',
        reason: 'unauthorized',
        status: 401,
        detail: 'the header X is missing',
        source: '192.0.2.7',
        delivery_id: 'd1',
      },
    ]);
    for (let n = 0; n < 500; n += 1) refuse('hook', 'd2', 'the header X is missing');
    jest.advanceTimersByTime(59_000);
    refuse('hook', 'd3', 'the header X is missing');
    expect(lines).toHaveLength(1);
    refuse('other', 'd4');
    expect(lines[1]).toMatchObject({ route: 'other' });
    jest.advanceTimersByTime(2_000);
    refuse('hook', 'd5', 'the header X is missing');
    expect(lines).toHaveLength(3);
    expect(lines[2]).toMatchObject({ route: 'hook', delivery_id: 'd5', webhooks: 502 });
    await unstarted.onModuleDestroy();
  });

  it('has another reason at once, but only a few of them: a flood cannot fill it with ever new ones', async () => {
    jest.useFakeTimers();
    const { refuse, unstarted, lines } = recorder();
    for (let n = 0; n < 1_000; n += 1) refuse('hook', 'd', `the timestamp is ${n} s old`);
    expect(lines.map(({ detail }) => detail)).toEqual(
      [0, 1, 2, 3, 4].map((n) => `the timestamp is ${n} s old`),
    );
    jest.advanceTimersByTime(60_000);
    for (let n = 0; n < 1_000; n += 1) refuse('hook', 'd', `the timestamp is ${n} s old`);
    expect(lines).toHaveLength(10);
    expect(lines[5]).toMatchObject({ webhooks: 996 });
    await unstarted.onModuleDestroy();
  });

  it('says what was ignored and why, but nothing about repeats', async () => {
    const { unstarted, lines } = recorder();
    const request = { routeName: 'hook', headers: {}, source: '192.0.2.7' };
    unstarted.answered(request, { status: 200, body: { status: 'duplicate' } });
    unstarted.answered(request, {
      status: 200,
      body: { status: 'ignored', reason: 'filter' },
      detail: 'filters.0 (a equals 1): a was 2',
    });
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'info',
        msg: 'webhook ignored',
        detail: 'filters.0 (a equals 1): a was 2',
      }),
    ]);
    await unstarted.onModuleDestroy();
  });

  it('stays within a bound, for any number of routes', async () => {
    const routes = Array.from({ length: 5_000 }, (_, n) => `r${n}`);
    const { refuse, unstarted, lines } = recorder(routes);
    for (const [n, route] of routes.entries()) {
      refuse(route, 'x');
      // What waits for a flush has a bound of its own; here the log is to reach its own.
      if (n % 1_000 === 0) await unstarted.flush();
    }
    expect(lines.length).toBeLessThanOrEqual(2_001);
    await unstarted.onModuleDestroy();
  });
});
