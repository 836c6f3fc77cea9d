import { resolve } from 'node:path';
import { configFileOf } from '../data-directory/env-file.ts';
import { LaunchError } from '../launch-error.ts';
import { parseReplicas, type Replicas } from './replicas.ts';

/** What `npm start` reads from the environment (INTERFACES.md). An empty variable counts as unset. */
export interface Settings {
  readonly dataDir: string;
  /** Null means the built-in demo config. */
  readonly config: string | null;
  readonly host: string;
  /** 0 means a free port, which is kept in the data directory. */
  readonly port: number;
  readonly databaseUrl: string | null;
  readonly natsUrl: string | null;
  readonly replicas: Replicas;
  readonly drainSeconds: number;
}

const DEFAULT_PORT = 8644;
const DEFAULT_DRAIN_SECONDS = 30;

export function readSettings(env: NodeJS.ProcessEnv, cwd: string): Settings {
  return {
    dataDir: resolve(cwd, env.ANGELIA_DATA || '.angelia'),
    config: configFileOf(env, cwd),
    host: env.ANGELIA_HOST || '127.0.0.1',
    port: numberIn(
      env,
      'ANGELIA_PORT',
      DEFAULT_PORT,
      'a port, 0 to 65535',
      (n) => isInteger(n) && n <= 65_535,
    ),
    databaseUrl: env.DATABASE_URL || null,
    natsUrl: env.NATS_URL || null,
    replicas: parseReplicas(env.ANGELIA_REPLICAS),
    drainSeconds: numberIn(env, 'ANGELIA_DRAIN_SECONDS', DEFAULT_DRAIN_SECONDS, 'seconds', (n) => n >= 0),
  };
}

const isInteger = (value: number): boolean => Number.isInteger(value) && value >= 0;

function numberIn(
  env: NodeJS.ProcessEnv,
  name: string,
  fallback: number,
  meaning: string,
  isGood: (value: number) => boolean,
): number {
  const text = env[name];
  if (!text) return fallback;
  const value = Number(text);
  if (isGood(value)) return value;
  throw new LaunchError('BAD_ENVIRONMENT', `${name} is "${text}": it must be ${meaning}`);
}
