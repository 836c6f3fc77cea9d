import { CliError, EXIT, type ExitCode } from '../exit.ts';
import { withoutControlCharacters } from '../terminal/control-characters.ts';

/** Ingress answers within a second or sends 503. A request that takes longer has no working connection. */
const REQUEST_TIMEOUT_MS = 30_000;

export interface Api {
  readonly baseUrl: URL;
  get<T>(path: string, query?: Query): Promise<T>;
  /** The answer unchanged, for data that the command sends back. Control characters stay in it. */
  getExactly<T>(path: string): Promise<T>;
  send<T>(method: 'POST' | 'PUT' | 'DELETE', path: string, sent?: Sent): Promise<T>;
  /** For a stream, or an answer that is not JSON. Throws the same errors as the others. */
  open(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response>;
}

/** Null and undefined are not sent. */
export type Query = Readonly<Record<string, string | number | null | undefined>>;

export interface Sent {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiOptions {
  readonly baseUrl: URL;
  readonly token: string;
  readonly signal: AbortSignal;
  /** Replaces control characters in the answer, because a person reads it (terminal/control-characters.ts). */
  readonly forTerminal: boolean;
}

export function openApi({ baseUrl, token, signal, forTerminal }: ApiOptions): Api {
  const call = async (path: string, init: RequestInit & { unlimited?: boolean }): Promise<Response> => {
    const { unlimited, ...request } = init;
    const limits = [signal, ...(unlimited === true ? [] : [AbortSignal.timeout(REQUEST_TIMEOUT_MS)])];
    const response = await reach(addressOf(baseUrl, path), {
      ...request,
      signal: AbortSignal.any(init.signal ? [...limits, init.signal] : limits),
      headers: { authorization: `Bearer ${token}`, accept: 'application/json', ...init.headers },
    });
    if (!response.ok) throw await refusalOf(response, path);
    return response;
  };
  const read = async <T>(response: Response, shown = forTerminal): Promise<T> => {
    if (response.status === 204) return {} as T;
    return parsed<T>(await response.text(), baseUrl, shown);
  };
  return {
    baseUrl,
    get: async (path, query = {}) => read(await call(`${path}${queryText(query)}`, {})),
    getExactly: async (path) => read(await call(path, {}), false),
    send: async (method, path, { body, headers } = {}) =>
      read(
        await call(path, {
          method,
          headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      ),
    open: (path, headers, streamSignal) => call(path, { headers, signal: streamSignal, unlimited: true }),
  };
}

/** `/v1/...` below the server's address, which may have a path itself. */
export function addressOf(baseUrl: URL, path: string): URL {
  return new URL(path.slice(1), baseUrl);
}

/** @throws CliError 5 when there is no answer; the AbortError unchanged after Ctrl-C */
export async function reach(url: URL, init: RequestInit): Promise<Response> {
  try {
    // A redirect would send the token, or a signed body, to an address that the user did not name.
    return await fetch(url, { ...init, redirect: 'manual' });
  } catch (error) {
    throw unreachable(url, error);
  }
}

export function unreachable(url: URL, error: unknown): unknown {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } };
  if (name === 'AbortError') return error;
  const why =
    name === 'TimeoutError'
      ? `timeout after ${REQUEST_TIMEOUT_MS / 1000} s`
      : (cause?.code ?? cause?.message);
  return new CliError(
    EXIT.unreachable,
    `${url.origin} does not answer (${why ?? 'the connection broke'})`,
    'is it running? `npm start` starts the local stack. --url or ANGELIA_URL names another server',
  );
}

const CODE_OF_STATUS: Readonly<Record<number, ExitCode>> = {
  400: EXIT.usage,
  401: EXIT.unauthorised,
  404: EXIT.notFound,
  409: EXIT.refused,
  412: EXIT.refused,
  422: EXIT.config,
  413: EXIT.usage,
  415: EXIT.usage,
  429: EXIT.tryLater,
  503: EXIT.tryLater,
};

/** The server's own error message, with the exit code for its status. */
export async function refusalOf(response: Response, path: string): Promise<CliError> {
  const said = await saidIn(response);
  if (said === null) {
    return new CliError(
      EXIT.failed,
      `${new URL(response.url).origin} answered ${response.status} to ${path}, but not as Angelia does: is it another server?`,
      'give the address of ingress with --url or ANGELIA_URL',
    );
  }
  if (response.status === 401 && path.startsWith('/v1')) {
    return new CliError(
      EXIT.unauthorised,
      `the admin token is wrong: ${new URL(response.url).origin} refuses it`,
      'the token comes from --token-file, else ANGELIA_ADMIN_TOKEN, else $ANGELIA_DATA/admin-token',
    );
  }
  const later = response.headers.get('retry-after');
  return new ApiRefusal(
    CODE_OF_STATUS[response.status] ?? EXIT.failed,
    `${said.error}${later === null ? '' : ` (try again in ${later} s)`}`,
    said.body,
  );
}

/** An error that the server explained, with its whole answer. */
export class ApiRefusal extends CliError {
  readonly body: unknown;

  constructor(exitCode: ExitCode, message: string, body: unknown) {
    super(exitCode, message);
    this.body = body;
  }
}

async function saidIn(
  response: Response,
): Promise<{ readonly error: string; readonly body: unknown } | null> {
  try {
    const body = JSON.parse(await response.text()) as { error?: unknown };
    return typeof body.error === 'string' ? { error: withoutControlCharacters(body.error), body } : null;
  } catch {
    return null; // a proxy's page or a broken connection: not an error message of Angelia
  }
}

export function parsed<T>(text: string, from: URL, forTerminal: boolean): T {
  try {
    return JSON.parse(text, (_key, value) =>
      forTerminal && typeof value === 'string' ? withoutControlCharacters(value) : value,
    ) as T;
  } catch {
    throw new CliError(
      EXIT.failed,
      `${from.origin} answered with something other than JSON: is it another server?`,
    );
  }
}

function queryText(query: Query): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [[key, String(value)] as [string, string]],
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}
