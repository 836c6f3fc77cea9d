import { BusUrlInvalid } from '../errors.ts';

export interface ServerAddress {
  /** `host:port`, without credentials: safe to log. */
  readonly servers: string[];
  readonly tls: boolean;
  readonly credentials: { readonly token: string } | { readonly user: string; readonly pass: string } | null;
}

const DEFAULT_PORT = '4222';

/** The client library reads only host and port of a URL, and would silently drop credentials. */
export function parseServerUrl(url: string): ServerAddress {
  const parsed = url
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseOne);
  const first = parsed[0];
  if (first === undefined) throw invalid('it is empty');
  if (parsed.some((one) => one.tls !== first.tls)) throw invalid('nats:// and tls:// are mixed');
  const named = parsed.filter((one) => one.credentials !== null);
  const credentials = named[0]?.credentials ?? null;
  if (named.some((one) => JSON.stringify(one.credentials) !== JSON.stringify(credentials))) {
    throw invalid('its servers have different credentials, but a cluster has one set');
  }
  return { servers: parsed.flatMap((one) => one.servers), tls: first.tls, credentials };
}

function parseOne(text: string): ServerAddress {
  let url: URL;
  try {
    url = new URL(text.includes('://') ? text : `nats://${text}`);
  } catch {
    throw invalid('it cannot be parsed');
  }
  if (url.protocol !== 'nats:' && url.protocol !== 'tls:') throw invalid(`its scheme is ${url.protocol}//`);
  if (url.hostname === '') throw invalid('it names no host');
  return {
    servers: [`${url.hostname}:${url.port === '' ? DEFAULT_PORT : url.port}`],
    tls: url.protocol === 'tls:',
    credentials: credentialsOf(decodeURIComponent(url.username), decodeURIComponent(url.password)),
  };
}

/** As everywhere in NATS, a user without a password is a token. */
function credentialsOf(user: string, pass: string): ServerAddress['credentials'] {
  if (user === '') return null;
  return pass === '' ? { token: user } : { user, pass };
}

function invalid(why: string): BusUrlInvalid {
  return new BusUrlInvalid(
    `the NATS URL is not usable, ${why}: write nats://[user:password@|token@]host:port`,
  );
}
