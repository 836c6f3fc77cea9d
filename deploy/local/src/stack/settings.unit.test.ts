import { describe, expect, it } from '@jest/globals';
import { instancesOf, parseReplicas } from './replicas.ts';
import { readSettings } from './settings.ts';

describe('the environment', () => {
  it('has defaults for everything, and treats an empty variable as unset', () => {
    expect(readSettings({ ANGELIA_PORT: '', DATABASE_URL: '' }, '/nowhere')).toMatchObject({
      dataDir: '/nowhere/.angelia',
      host: '127.0.0.1',
      port: 8644,
      databaseUrl: null,
      config: null,
      drainSeconds: 30,
    });
  });

  it.each([
    [{ ANGELIA_PORT: 'http' }, 'ANGELIA_PORT is "http"'],
    [{ ANGELIA_PORT: '70000' }, 'ANGELIA_PORT is "70000"'],
    [{ ANGELIA_DRAIN_SECONDS: '-1' }, 'ANGELIA_DRAIN_SECONDS is "-1"'],
    [{ ANGELIA_REPLICAS: 'runner=2' }, 'ANGELIA_REPLICAS has "runner=2"'],
    [{ ANGELIA_REPLICAS: 'delivery=0' }, 'ANGELIA_REPLICAS has "delivery=0"'],
  ])('with a wrong value is refused by name: %j', (env, reason) => {
    expect(() => readSettings(env, '/nowhere')).toThrow(reason);
  });
});

describe('replicas', () => {
  it('are named by service and number, the first one by the service alone', () => {
    const instances = instancesOf(parseReplicas(' agent-runner=2, delivery = 1 ')).map((one) => one.instance);
    expect(instances).toEqual(['ingress', 'agent-runner', 'agent-runner-2', 'delivery', 'process-watcher']);
  });
});
