import { StringDecoder } from 'node:string_decoder';
import type { McpServerConfig } from '@angelia/contracts';
import type { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type * as undici from 'undici';

/** The limit of one answer. It is far above the cap of a result, so that a result to be cut can be read whole. */
const MOST_ANSWER_BYTES = 8 * 1024 * 1024;

/** Gets each line of the program's stderr, up to a bound. The caller removes secrets before it shortens a line. */
type OnStderr = (line: string) => void;
const MOST_STDERR_LINE = 8_000;

/** Makes a transport that is not started yet. The SDK is loaded only if a server is used. */
export async function openTransport(config: McpServerConfig, onStderr: OnStderr): Promise<Transport> {
  return config.command === undefined
    ? httpTransport(config)
    : stdioTransport(config, config.command, onStderr);
}

async function stdioTransport(
  config: McpServerConfig,
  command: string,
  onStderr: OnStderr,
): Promise<Transport> {
  const { StdioClientTransport: Stdio } = await import('@modelcontextprotocol/sdk/client/stdio.js');
  const transport: StdioClientTransport = new Stdio({
    command,
    args: config.args ?? [],
    // The SDK adds HOME, LOGNAME, PATH, SHELL, TERM and USER. Our own keys and URLs are not passed on.
    env: { ...networkVariables(), ...config.env },
    ...(config.cwd === undefined ? {} : { cwd: config.cwd }),
    stderr: 'pipe',
    maxBufferSize: MOST_ANSWER_BYTES,
  });
  readLines(transport, onStderr);
  return transport;
}

/** How programs reach the network of this host: a proxy, a private certificate authority, a mirror of packages. */
const NETWORK_VARIABLES = new RegExp(
  '^(https?|all|no)_proxy$|^node_extra_ca_certs$|^node_use_(system_ca|env_proxy)$|^ssl_cert_(file|dir)$' +
    '|^(requests|curl|aws)_ca_bundle$|^git_ssl_cainfo$|^npm_config_(registry|cafile|https?_proxy|proxy|noproxy)$' +
    '|^pip_(cert|proxy|index_url)$|^uv_(default_index|index_url|native_tls|system_certs)$',
  'i',
);

/** Without them, `npx` cannot fetch a server behind a proxy. */
export function networkVariables(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && NETWORK_VARIABLES.test(name) ? [[name, value]] : [],
    ),
  );
}

function readLines(transport: StdioClientTransport, onLine: OnStderr): void {
  let rest = '';
  // A character may come in two pieces; a secret that holds it would not be recognised.
  const decoder = new StringDecoder('utf8');
  transport.stderr?.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = (lines.pop() ?? '').slice(0, MOST_STDERR_LINE);
    for (const line of lines) if (line.trim() !== '') onLine(line.slice(0, MOST_STDERR_LINE));
  });
  // The last words of a program that dies may have no line end.
  transport.stderr?.on('end', () => {
    if (rest.trim() !== '') onLine(rest);
  });
}

async function httpTransport(config: McpServerConfig): Promise<Transport> {
  const [{ StreamableHTTPClientTransport }, { Agent, fetch }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    import('undici'),
  ]);
  // The call's own time limit ends a request. undici's limit (300 s without a byte) would cut off a slow tool.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const broken = new Set<string | number>();
  const transport = new StreamableHTTPClientTransport(new URL(config.url ?? ''), {
    requestInit: { headers: config.headers ?? {} },
    reconnectionOptions: RECONNECTION,
    fetch: async (url, init) => {
      const isPost = init?.method === 'POST';
      const isResumption = !isPost && new Headers(init?.headers).has('last-event-id');
      const asked = fetchOnSameOrigin(fetch, new URL(url), { ...(init as undici.RequestInit), dispatcher });
      if (isResumption) failUnlessResumed(asked);
      const response = await asked;
      if (!isPost) return response as unknown as Response;
      const id = requestIdIn(init.body);
      return bounded(response, {
        onLost: (reason) => fail(id, reason),
        onBroken: () => {
          if (id !== null) broken.add(id);
        },
      });
    },
  });
  /** The SDK would try again and then wait for the time limit of the call, although the server is gone. */
  const failUnlessResumed = (asked: Promise<undici.Response>): void => {
    const failAll = (reason: string) => {
      for (const id of broken) fail(id, `the connection was lost before the answer, and ${reason}`);
      broken.clear();
    };
    asked.then(
      ({ ok, status }) => {
        if (!ok) failAll(`the server answers ${status}`);
      },
      () => failAll('the server is gone'),
    );
  };
  const fail = (id: string | number | null, message: string): void => {
    if (id !== null) transport.onmessage?.({ jsonrpc: '2.0', id, error: { code: LOST, message } });
  };
  const close = transport.close.bind(transport);
  transport.close = async () => {
    await close();
    await dispatcher.destroy();
  };
  // Its `sessionId` may be undefined, which exactOptionalPropertyTypes distinguishes from absent.
  return transport as Transport;
}

/** As the SDK's, but the first try is soon: a call waits for it. */
const RECONNECTION = {
  initialReconnectionDelay: 200,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 2,
};

/** Frameworks redirect `/mcp` to `/mcp/`. */
const MOST_REDIRECTS = 2;

/**
 * Follows redirects on the server's own origin only. Others would carry the keys in the headers and what a model says to
 * a host that nobody configured, for instance one inside our own network.
 */
async function fetchOnSameOrigin(
  fetch: typeof undici.fetch,
  url: URL,
  init: undici.RequestInit,
): Promise<undici.Response> {
  let at = url;
  for (let redirects = 0; ; redirects += 1) {
    const response = await fetch(at, { ...init, redirect: 'manual' });
    // Other redirects turn a POST into a GET, whose answer the SDK refuses.
    if (response.status !== 307 && response.status !== 308) return response;
    const location = response.headers.get('location');
    if (location === null || !URL.canParse(location, at.href) || redirects === MOST_REDIRECTS)
      return response;
    const next = new URL(location, at);
    await response.body?.cancel();
    if (next.origin !== url.origin) {
      throw new Error(`it redirects to ${next.origin}, which is not followed: set its url to where it is`);
    }
    at = next;
  }
}

/** In JSON-RPC's range for errors of an implementation. The SDK uses it for a closed connection. */
const LOST = -32_000;
/** When a stream ends, an answer may still be on its way through the SDK. It gets this long, and then it counts. */
const LAST_ANSWER_MS = 500;

function requestIdIn(body: unknown): string | number | null {
  const { id } = JSON.parse(String(body)) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/**
 * Cuts an answer to a POST at the bound. (The GET stream of notifications is endless.) The SDK does not fail a request
 * whose event stream broke off but waits for its time limit, so `onLost` reports it. The SDK itself resumes a stream that
 * has event ids: `onBroken`. It also does so for a stream that ended well, whose request has its answer by then.
 */
function bounded(
  response: undici.Response,
  { onLost, onBroken }: { onLost: (reason: string) => void; onBroken: () => void },
): Response {
  const isStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
  let bytes = 0;
  let resumable = false;
  const over = (reason: string) => {
    if (isStream && resumable) onBroken();
    else if (isStream) setTimeout(() => onLost(reason), LAST_ANSWER_MS).unref();
  };
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (isStream) resumable ||= /(^|\n)id:/.test(Buffer.from(chunk).toString('latin1'));
      if (bytes <= MOST_ANSWER_BYTES) return controller.enqueue(chunk);
      const reason = `the answer is longer than ${MOST_ANSWER_BYTES} bytes`;
      resumable = false;
      over(reason);
      controller.error(new Error(reason));
    },
    flush: () => over('the connection was closed before the answer'),
    cancel: () => over('the connection was lost before the answer'),
  });
  const { status, statusText, body } = response;
  // undici has its own types of streams and headers.
  const counted =
    body === null ? null : (body as unknown as ReadableStream<Uint8Array>).pipeThrough(counting);
  return new Response(counted, { status, statusText, headers: [...response.headers] });
}
