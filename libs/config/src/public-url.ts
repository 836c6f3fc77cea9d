import type { Config } from '@angelia/contracts';
import type { Environment } from './environment.ts';

/** The URL where people and programs reach ingress: `public_url` of the config, or else the address that it listens on. */
export function publicUrl(
  config: Pick<Config, 'public_url'>,
  { host, port }: Pick<Environment, 'host' | 'port'>,
): string {
  if (config.public_url !== undefined) return config.public_url.replace(/\/+$/, '');
  return `http://${reachable(host)}:${port}`;
}

/** The address by which a client on this machine reaches a server that listens on `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
