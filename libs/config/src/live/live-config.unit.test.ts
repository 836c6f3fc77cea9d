import { parseConfig } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import type { LoadedConfig } from '../load/load.ts';
import { changedFixedKeys, withFixedKeysOf } from './fixed-keys.ts';
import { LiveConfig } from './live-config.ts';

function configOf(raw: unknown) {
  const parsed = parseConfig(raw);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.config;
}
const loaded = (raw: unknown) => ({ config: configOf(raw) }) as LoadedConfig;

describe('the config in force', () => {
  it('is replaced together with its settings, and a piece of work keeps what it began with', () => {
    const closed: string[] = [];
    const live = new LiveConfig<string>(loaded({ secret: 'one' }), 'settings 1', {
      close: (settings) => closed.push(settings),
    });
    const first = live.hold();
    const taken: (string | undefined)[] = [];
    live.onTaken((config) => taken.push(`${config.secret} with ${live.settings}`));
    live.take(loaded({ secret: 'two' }), 'settings 2');
    expect(taken).toEqual(['two with settings 2']);
    expect([first.config.secret, first.settings]).toEqual(['one', 'settings 1']);
    expect([live.current.secret, live.settings]).toEqual(['two', 'settings 2']);
    // The work with the old settings is not over.
    expect(closed).toEqual([]);
    first.release();
    expect(closed).toEqual(['settings 1']);
  });

  it('closes what nobody holds at once, what several hold after the last, and never what is in force', () => {
    const closed: number[] = [];
    const live = new LiveConfig<number>(loaded({}), 1, { close: (settings) => closed.push(settings) });
    live.hold().release();
    expect(closed).toEqual([]);
    live.take(loaded({}), 2);
    expect(closed).toEqual([1]);
    const [a, b] = [live.hold(), live.hold()];
    live.take(loaded({}), 3);
    a.release();
    expect(closed).toEqual([1]);
    b.release();
    expect(closed).toEqual([1, 2]);
  });
});

describe('keys that cannot change while a service runs', () => {
  const before = configOf({ timing: { lease_seconds: 20 }, limits: { rate_limit: 5 } });
  const after = configOf({
    timing: { lease_seconds: 60 },
    nats: { replicas: 3 },
    limits: { rate_limit: 9, trusted_proxies: ['10.0.0.0/8'] },
    process_watcher: { run_as: 'same', max_processes: 3 },
  });

  it('are named, with the services to restart', () => {
    expect(changedFixedKeys(before, before)).toEqual([]);
    expect(changedFixedKeys(before, after)).toEqual([
      { key: 'timing', services: ['ingress', 'agent-runner', 'delivery', 'process-watcher'] },
      { key: 'nats', services: ['ingress', 'agent-runner', 'delivery', 'process-watcher'] },
      { key: 'limits.trusted_proxies', services: ['ingress'] },
      { key: 'process_watcher.run_as', services: ['process-watcher'] },
    ]);
  });

  it('stay as they were for the service that has them fixed, and nothing else does', () => {
    const ingress = withFixedKeysOf(before, after, 'ingress');
    expect(ingress.timing.lease_seconds).toBe(20);
    expect(ingress.nats.replicas).toBe(1);
    expect(ingress.limits).toEqual({ ...after.limits, trusted_proxies: [] });
    expect(ingress.process_watcher).toEqual(after.process_watcher);
    const watcher = withFixedKeysOf(before, after, 'process-watcher');
    expect(watcher.limits).toEqual(after.limits);
    expect(watcher.process_watcher).toEqual({ ...after.process_watcher, run_as: 'auto' });
  });
});
