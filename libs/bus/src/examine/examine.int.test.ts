import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { busOn, DURABLE, recordingHandler, TYPE } from '../testing/fixture.ts';
import { NatsServer } from '../testing/nats-server.ts';
import { examineBus } from './examine.ts';

const examined = (url: string) => examineBus({ url, timeoutMs: 60_000, replicas: 1 });

describe('a server with JetStream', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await NatsServer.start({ token: 'a-token' });
  });
  afterAll(() => server.dispose());

  it('reports whether it has a stream and consumers, and creates neither', async () => {
    const before = await examined(server.url);
    expect(before.supported).toBe(true);
    expect(before.maxPayloadBytes).toBeGreaterThanOrEqual(before.neededPayloadBytes);
    expect(before.jetstream).toMatchObject({ stream: null, consumers: [], storageLeftBytes: null });
    expect((await examined(server.url)).jetstream?.stream).toBeNull();

    const bus = busOn(server);
    try {
      await bus.whenReady();
      await bus.provision();
      bus.consume({ durable: DURABLE, type: TYPE, concurrency: 1, ...recordingHandler() });
      const after = await eventually(async () => {
        const now = await examined(server.url);
        return now.jetstream?.consumers.length === 1 && now;
      });
      expect(after.jetstream).toMatchObject({
        stream: { replicas: 1, messages: 0, lagging: [] },
        consumers: [{ durable: DURABLE, pending: 0, unacked: 0 }],
      });
    } finally {
      await bus.close();
    }
  });

  it('that refuses the login is reported as unavailable, without the token', async () => {
    const failed = await examined(server.url.replace('a-token', 'another-token')).catch(
      (error: Error) => error,
    );
    expect(failed).toMatchObject({ code: 'bus_unavailable' });
    expect(String(failed)).toMatch(/authoriz/i);
    expect(String(failed)).not.toContain('another-token');
  });
});

it('a server without JetStream is reported as such', async () => {
  const server = await NatsServer.start({ jetstream: false });
  try {
    expect((await examined(server.url)).jetstream).toBeNull();
  } finally {
    await server.dispose();
  }
});
