import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { healthAnswer } from './admin-server.ts';
import { Health } from './health.ts';

describe('health', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is ready if all of its checks pass', async () => {
    const health = new Health();
    health.add('postgres', () => ({ ok: true }));
    expect(await healthAnswer(health, 'GET', '/readyz')).toEqual({
      status: 200,
      body: { status: 'ready', checks: { postgres: { ok: true } } },
    });
  });

  it('names the check that fails, and its reason', async () => {
    const health = new Health();
    health.add('postgres', async () => {
      throw new Error('connection refused');
    });
    health.add('nats', () => ({ ok: true }));
    expect(await healthAnswer(health, 'GET', '/readyz')).toEqual({
      status: 503,
      body: {
        status: 'not ready',
        checks: { postgres: { ok: false, reason: 'connection refused' }, nats: { ok: true } },
      },
    });
  });

  it('is alive whatever its checks return', async () => {
    const health = new Health();
    health.add('postgres', () => ({ ok: false, reason: 'away' }));
    expect((await healthAnswer(health, 'GET', '/healthz')).status).toBe(200);
    expect((await healthAnswer(health, 'GET', '/health')).status).toBe(200);
  });

  it('is not ready while it drains', async () => {
    const health = new Health();
    health.drain();
    expect(await healthAnswer(health, 'GET', '/readyz')).toMatchObject({
      status: 503,
      body: { status: 'draining' },
    });
  });

  it('treats a check that hangs as failed, in time', async () => {
    const health = new Health();
    health.add('stuck', () => new Promise(() => {}));
    jest.useFakeTimers();
    let ready: boolean | undefined;
    void health.readiness().then((readiness) => {
      ready = readiness.ready;
    });
    // Kubernetes and the launcher ask every second or two.
    await jest.advanceTimersByTimeAsync(2_000);
    expect(ready).toBe(false);
  });

  it('runs its checks once for all who ask at the same time', async () => {
    const health = new Health();
    let looks = 0;
    health.add('counted', async () => {
      looks += 1;
      return { ok: true };
    });
    await Promise.all([health.readiness(), health.readiness(), health.readiness()]);
    expect(looks).toBe(1);
    await health.readiness();
    expect(looks).toBe(2);
  });
});
