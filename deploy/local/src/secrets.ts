import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { keptSecret } from './kept-file.ts';
import type { Layout } from './layout.ts';

export interface Secrets {
  /** Encrypts the secrets of routes made by API: 32 bytes, base64. */
  readonly masterKey: string;
  /** Bearer token of /v1. */
  readonly adminToken: string;
  /** Where the token can be read; null when the environment gave it. */
  readonly adminTokenFile: string | null;
  /** Signs webhooks of the built-in demo route. */
  readonly demoSecret: string;
}

/** What the environment gives is used and not written down; the rest is made once and kept 0600. */
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
