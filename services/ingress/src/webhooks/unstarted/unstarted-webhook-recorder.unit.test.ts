import type { EventLog, UnstartedBatch } from '@angelia/event-log';
import { createLogger, webhookCounter } from '@angelia/service-kit';
import { describe, expect, it } from '@jest/globals';
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
  const logger = createLogger({ service: 'test', instance: 'test', level: 'silent' });
  const counter = webhookCounter();
  const unstarted = new UnstartedWebhookRecorder(log, table, logger, counter);
  /** Route, outcome, how many. */
  const counted = () => [...counter.series].map(({ labels, value }) => [...labels, value]);
  const refuse = (routeName: string, deliveryId: string) =>
    unstarted.refused(
      { routeName, headers: { 'x-github-delivery': deliveryId } },
      new Refusal(401, 'unauthorized', 'no'),
    );
  const ids = (batch: UnstartedBatch | undefined) => batch?.newest.map(({ deliveryId }) => deliveryId);
  return { unstarted, refuse, counted, written, state, ids };
}

describe('webhooks that start no session', () => {
  it('are counted by route and outcome; all names without a route count as one', async () => {
    const { refuse, unstarted, counted } = recorder();
    refuse('hook', 'a');
    for (let n = 0; n < 5_000; n += 1) refuse(`scan-${n}`, 'b');
    unstarted.answered(
      { routeName: 'hook', headers: {} },
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
    refuse('hook', `${'x'.repeat(150)}\ud800`);
    await unstarted.flush();
    expect(written[0]?.[0]?.newest[0]?.deliveryId?.isWellFormed()).toBe(true);
    await unstarted.onModuleDestroy();
  });
});
