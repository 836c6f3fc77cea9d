import { isSecretKey } from '@angelia/contracts';
import type { Notes } from './notes.ts';
import {
  asName,
  countOf,
  freeName,
  present,
  type Section,
  sectionOf,
  textOf,
  textsOf,
} from './untyped-values.ts';
import type { Variables } from './variables.ts';

/** The servers by their names in our config. */
export interface ImportedServers {
  readonly servers: Record<string, unknown>;
}

const KNOWN = new Set([
  'command',
  'args',
  'env',
  'url',
  'headers',
  'timeout',
  'enabled',
  'connect_timeout',
  'transport',
]);

export function importServers(config: Section, variables: Variables, notes: Notes): ImportedServers {
  const servers: Record<string, unknown> = {};
  for (const [written, value] of Object.entries(sectionOf(config.mcp_servers))) {
    const place = `mcp_servers.${written}`;
    const server = sectionOf(value);
    const { command, url } = { command: textOf(server.command), url: textOf(server.url) };
    if ((command === undefined) === (url === undefined)) {
      notes.add(place, 'needs either `command` or `url`', 'add it by hand under `mcp_servers`');
      continue;
    }
    if (server.enabled === false) {
      notes.add(place, 'is switched off in Hermes', 'it is left out: add it by hand if you want it');
      continue;
    }
    for (const key of Object.keys(server).filter((one) => !KNOWN.has(one))) {
      notes.add(
        `${place}.${key}`,
        'has no equivalent here',
        key === 'auth' ? 'put a token into `headers`' : 'agents get all tools of a server',
      );
    }
    const name = freeName(asName(written), (one) => Object.hasOwn(servers, one));
    servers[name] = present({
      command,
      args: command === undefined || server.args === undefined ? undefined : textsOf(server.args),
      env: command === undefined ? undefined : secrets(name, server.env, variables),
      url,
      headers: url === undefined ? undefined : secrets(name, server.headers, variables),
      timeout_seconds: countOf(server.timeout),
    });
    notes.add(
      place,
      'no agent has its tools yet',
      `add \`mcp:${name}\` to the toolsets of the agents that need it`,
    );
  }
  return { servers };
}

function secrets(server: string, values: unknown, variables: Variables): Section | undefined {
  const entries = Object.entries(sectionOf(values)).flatMap(([key, value]) => {
    const text = textOf(value);
    if (text === undefined) return [];
    return [[key, isSecretKey(key) ? variables.secret(`MCP_${server}_${key}`, text) : text]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
