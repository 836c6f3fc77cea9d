import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { keptSecret } from './kept-file.ts';
import type { Layout } from './layout.ts';

export interface Secrets {
  /** Encrypts the secrets of routes that the API made: 32 bytes, base64. */
  readonly masterKey: string;
  /** The bearer token for /v1. */
  readonly adminToken: string;
  /** Where the token can be read; null if it came from the environment. */
  readonly adminTokenFile: string | null;
  /** Signs webhooks for the built-in demo route. */
  readonly demoSecret: string;
}

/** Secrets from the environment are used and not stored. The others are made once and kept with mode 0600. */
export function provideSecrets(layout: Layout, env: NodeJS.ProcessEnv): Secrets {
  const adminTokenFile = join(layout.dataDir, 'admin-token');
  return {
    masterKey:
      env.ANGELIA_MASTER_KEY ||
      keptSecret(join(layout.etc, 'master-key'), () => randomBytes(32).toString('base64')),
    adminToken: env.ANGELIA_ADMIN_TOKEN || keptSecret(adminTokenFile, () => randomBytes(32).toString('hex')),
    adminTokenFile: env.ANGELIA_ADMIN_TOKEN ? null : adminTokenFile,
    demoSecret:
      env.ANGELIA_DEMO_SECRET ||
      keptSecret(join(layout.etc, 'demo-secret'), () => randomBytes(16).toString('hex')),
  };
}
