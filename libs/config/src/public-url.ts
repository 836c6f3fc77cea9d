import type { Config } from '@angelia/contracts';
import { toolsetsOf } from './check/agents.ts';
import type { Environment } from './environment.ts';
import { isLoopback } from './loopback.ts';
import { agentsThatAsk } from './tool-policy.ts';

/** The URL where people and programs reach ingress: `public_url` of the config, or else the address that it listens on. */
export function publicUrl(
  config: Pick<Config, 'public_url'>,
  { host, port }: Pick<Environment, 'host' | 'port'>,
): string {
  if (config.public_url !== undefined) return config.public_url.replace(/\/+$/, '');
  return `http://${reachable(host)}:${port}`;
}

/**
 * What the operator should know about links that nobody outside of this machine can open. Null: all links can be opened,
 * or no agent of this config needs one.
 */
export function publicUrlWarning(
  config: Pick<Config, 'public_url' | 'agents' | 'routes'>,
  environment: Pick<Environment, 'host' | 'port'>,
): string | null {
  if (!isLoopback(new URL(publicUrl(config, environment)).hostname)) return null;
  const agents = Object.entries(config.agents);
  const approving = agentsThatAsk(config);
  const asking = agents.filter(
    ([name, agent]) => toolsetsOf(agent).includes('clarify') || approving.includes(name),
  );
  const calling = agents.filter(
    ([, agent]) => agent.kind === 'http' && !isLoopback(new URL(agent.url).hostname),
  );
  if (asking.length + calling.length === 0) return null;
  const needs = [
    ...(asking.length > 0 ? [`questions of ${named(asking)} have links to answer them`] : []),
    ...(calling.length > 0 ? [`${named(calling)} (kind http) may call back`] : []),
  ].join(', and ');
  return (
    `public_url: ${whatItIs(config, environment)}, but ${needs}: nobody outside of this machine can open them. ` +
    'Set public_url to the URL where people and agents reach ingress, such as https://hooks.example.com'
  );
}

/** `not set, so links begin with http://127.0.0.1:8644` */
function whatItIs(
  config: Pick<Config, 'public_url'>,
  environment: Pick<Environment, 'host' | 'port'>,
): string {
  return config.public_url === undefined
    ? `not set, so links begin with ${publicUrl(config, environment)}`
    : `${config.public_url} is an address of this machine only`;
}

function named(agents: readonly (readonly [name: string, agent: unknown])[]): string {
  return agents.map(([name]) => `agents.${name}`).join(', ');
}

/** The address by which a client on this machine reaches a server that listens on `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
