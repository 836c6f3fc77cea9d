import { isDeepStrictEqual } from 'node:util';
import type { Config } from '@angelia/contracts';
import { type ServiceName, serviceNames } from '../environment.ts';

/** A key that a running service cannot change, and the services that have to be restarted for it. */
export interface FixedKey {
  readonly key: string;
  readonly services: readonly ServiceName[];
}

/** Timers, leases and connections are made with these when a service starts. */
const FIXED: readonly FixedKey[] = [
  { key: 'timing', services: serviceNames },
  { key: 'nats', services: serviceNames },
  { key: 'limits.trusted_proxies', services: ['ingress'] },
  { key: 'process_watcher.run_as', services: ['process-watcher'] },
  { key: 'process_watcher.host_lease_seconds', services: ['process-watcher'] },
];

/** The fixed keys that differ. */
export function changedFixedKeys(before: Config, after: Config): FixedKey[] {
  return FIXED.filter(({ key }) => !isDeepStrictEqual(valueAt(before, key), valueAt(after, key)));
}

/** The new config with the fixed keys of this service as they were when it started. */
export function withFixedKeysOf(started: Config, next: Config, service: ServiceName): Config {
  return FIXED.filter(({ services }) => services.includes(service)).reduce(
    (config, { key }) => withValueAt(config, key.split('.'), valueAt(started, key)),
    next,
  );
}

function valueAt(config: Config, key: string): unknown {
  return key
    .split('.')
    .reduce<unknown>((value, part) => (value as Readonly<Record<string, unknown>>)[part], config);
}

function withValueAt<T>(value: T, [first, ...rest]: readonly string[], replacement: unknown): T {
  if (first === undefined) return replacement as T;
  const inner = (value as Readonly<Record<string, unknown>>)[first];
  return { ...value, [first]: withValueAt(inner, rest, replacement) };
}
