import { join, resolve } from 'node:path';
import type { Given } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { dataDirectory, keptPorts, readIfThere } from '../local-stack/files.ts';
import type { Runtime } from '../runtime.ts';

const DEFAULT_PORT = '8644';
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
/** Addresses that mean "every interface", and how the same machine reaches them. */
const REACHED_AT: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

export function baseUrlOf(runtime: Runtime, given: Pick<Given, 'text'>): URL {
  const { env } = runtime;
  const named = given.text('url') ?? env.ANGELIA_URL;
  if (named) return parsedUrl(named);
  const host = env.ANGELIA_HOST || '127.0.0.1';
  const reached = REACHED_AT[host] ?? host;
  const port =
    env.ANGELIA_PORT === '0'
      ? String(keptPorts(dataDirectory(runtime)).ingress ?? DEFAULT_PORT)
      : env.ANGELIA_PORT || DEFAULT_PORT;
  return parsedUrl(`http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`);
}

function parsedUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CliError(
      EXIT.usage,
      `"${text}" is not the address of a server: give one such as http://127.0.0.1:8644`,
    );
  }
  // Behind a proxy the address may have a path. Requests are appended to it.
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

/**
 * The admin token: from the file that the user names, the environment, or the local stack. The local stack's token never
 * goes to another machine, whatever `--url` says.
 */
export function tokenOf(runtime: Runtime, given: Pick<Given, 'text'>, url: URL): string {
  const file = given.text('token-file');
  if (file !== null) {
    const token = readIfThere(resolve(runtime.cwd, file))?.trim();
    if (token) return sendable(token, `--token-file ${file}`);
    throw new CliError(EXIT.unauthorised, `--token-file ${file}: the file holds no token`);
  }
  const fromEnvironment = runtime.env.ANGELIA_ADMIN_TOKEN?.trim();
  if (fromEnvironment) return sendable(fromEnvironment, 'ANGELIA_ADMIN_TOKEN');
  const kept = join(dataDirectory(runtime), 'admin-token');
  const advice = 'set ANGELIA_ADMIN_TOKEN, or name a file with the token by --token-file';
  if (!LOOPBACK.test(url.hostname)) {
    throw new CliError(EXIT.unauthorised, `no admin token for ${url.host}`, advice);
  }
  const token = readIfThere(kept)?.trim();
  if (token) return sendable(token, kept);
  throw new CliError(
    EXIT.unauthorised,
    `no admin token: ANGELIA_ADMIN_TOKEN is not set, and there is no ${kept}`,
    `${advice}. If the local stack has another data directory, set ANGELIA_DATA`,
  );
}

/** Refuses text that no header can hold, such as a file of several lines, and does not quote it. */
function sendable(token: string, from: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new CliError(
    EXIT.unauthorised,
    `${from}: this is not a token: a token is one line of printable characters`,
  );
}
