import { STREAM_NAME } from '@angelia/contracts';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { busOn, DURABLE, outgoing, TYPE } from '../testing/fixture.ts';
import { NatsServer } from '../testing/nats-server.ts';
import type { Bus } from '../types.ts';
import { ensureDurable } from './durable-consumer.ts';
import { PullSubscription } from './pull-subscription.ts';

describe('a pull subscription', () => {
  let server: NatsServer;
  let bus: Bus;
  let nc: NatsConnection;

  beforeAll(async () => {
    server = await NatsServer.start();
    bus = busOn(server);
    await bus.whenReady();
    await bus.provision();
    await server.asOperator((jsm) =>
      ensureDurable(jsm, { durable: DURABLE, type: TYPE, lastAlive: null, beforeCreate: async () => {} }),
    );
    nc = await connect({ servers: `127.0.0.1:${server.port}` });
  });
  afterAll(async () => {
    await nc.close();
    await bus.close();
    await server.dispose();
  });

  it('knows what is outstanding, also after a request expired with half of its messages', async () => {
    let expiries = 0;
    const outstanding: number[] = [];
    const pulling = new PullSubscription(nc, DURABLE, {
      onMessage: () => outstanding.push(pulling.outstanding),
      onExpired: () => expiries++,
      expiresMs: 1_000,
    });
    pulling.request(5);
    await bus.publishHints([outgoing(), outgoing()]);
    await eventually(() => expiries === 1);
    expect(outstanding).toEqual([4, 3]);
    expect(pulling.outstanding).toBe(0);
    pulling.end('over');
  });

  it('ends when its durable is deleted', async () => {
    await server.asOperator((jsm) => jsm.streams.purge(STREAM_NAME));
    await server.asOperator((jsm) =>
      ensureDurable(jsm, { durable: 'deleted', type: TYPE, lastAlive: null, beforeCreate: async () => {} }),
    );
    const pulling = new PullSubscription(nc, 'deleted', { onMessage: () => {}, onExpired: () => {} });
    pulling.request(1);
    await nc.flush();
    await server.asOperator((jsm) => jsm.consumers.delete(STREAM_NAME, 'deleted'));
    expect(await pulling.ended).toBe('Consumer Deleted');
  });

  it('ends when its durable does not exist, although the server stays silent', async () => {
    const pulling = new PullSubscription(nc, 'nobody', { onMessage: () => {}, onExpired: () => {} });
    let reason = '';
    void pulling.ended.then((why) => {
      reason = why;
    });
    pulling.request(1);
    await eventually(
      () => {
        pulling.checkSilence();
        return reason !== '';
      },
      { everyMs: 500 },
    );
    expect(reason).toContain('forgotten');
  });

  it('stays open while the server sends heartbeats', async () => {
    await server.asOperator((jsm) => jsm.streams.purge(STREAM_NAME));
    const pulling = new PullSubscription(nc, DURABLE, { onMessage: () => {}, onExpired: () => {} });
    let ended = false;
    void pulling.ended.then(() => {
      ended = true;
    });
    pulling.request(1);
    const until = performance.now() + 7_000;
    await eventually(() => {
      pulling.checkSilence();
      return performance.now() > until;
    });
    expect(ended).toBe(false);
    pulling.end('over');
  });
});
