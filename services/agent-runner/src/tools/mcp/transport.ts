import { StringDecoder } from 'node:string_decoder';
import type { McpServerConfig } from '@angelia/contracts';
import type { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type * as undici from 'undici';

/** One answer of a server: far above the cap of a result, so that what is cut can still be read whole. */
const MOST_ANSWER_BYTES = 8 * 1024 * 1024;

/** The program's own words while it runs, line by line, as long as they are up to a bound: whoever cuts them takes secrets out first. */
export type OnStderr = (line: string) => void;
const MOST_STDERR_LINE = 8_000;

/** A transport that is not started yet. The SDK is loaded only where a server is used. */
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
    // The SDK adds HOME, LOGNAME, PATH, SHELL, TERM and USER; keys and URLs of ours stay with us.
    env: config.env ?? {},
    ...(config.cwd === undefined ? {} : { cwd: config.cwd }),
    stderr: 'pipe',
    maxBufferSize: MOST_ANSWER_BYTES,
  });
  readLines(transport, onStderr);
  return transport;
}

function readLines(transport: StdioClientTransport, onLine: OnStderr): void {
  let rest = '';
  // A character may come in two pieces, and a secret with it would not be known.
  const decoder = new StringDecoder('utf8');
  transport.stderr?.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = (lines.pop() ?? '').slice(0, MOST_STDERR_LINE);
    for (const line of lines) if (line.trim() !== '') onLine(line.slice(0, MOST_STDERR_LINE));
  });
}

async function httpTransport(config: McpServerConfig): Promise<Transport> {
  const [{ StreamableHTTPClientTransport }, { Agent, fetch }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    import('undici'),
  ]);
  // The call's own time limit ends a request; undici's (300 s without a byte) would cut a slow tool off before it.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const transport = new StreamableHTTPClientTransport(new URL(config.url ?? ''), {
    requestInit: { headers: config.headers ?? {} },
    fetch: async (url, init) => {
      const response = await onItsOrigin(fetch, new URL(url), {
        ...(init as undici.RequestInit),
        dispatcher,
      });
      if (init?.method !== 'POST') return response as unknown as Response;
      return bounded(response, (reason) => fail(requestIdIn(init.body), reason));
    },
  });
  const fail = (id: string | number | null, message: string): void => {
    if (id !== null) transport.onmessage?.({ jsonrpc: '2.0', id, error: { code: LOST, message } });
  };
  const close = transport.close.bind(transport);
  transport.close = async () => {
    await close();
    await dispatcher.destroy();
  };
  // Its `sessionId` may be undefined, which exactOptionalPropertyTypes tells from absent.
  return transport as Transport;
}

/** `/mcp` to `/mcp/`: frameworks do that. */
const MOST_REDIRECTS = 2;

/**
 * Redirects are followed on the server's own origin only: elsewhere they would carry the keys in its headers and what a
 * model says to a host that nobody configured, one inside our own network for instance.
 */
async function onItsOrigin(
  fetch: typeof undici.fetch,
  url: URL,
  init: undici.RequestInit,
): Promise<undici.Response> {
  let at = url;
  for (let redirects = 0; ; redirects += 1) {
    const response = await fetch(at, { ...init, redirect: 'manual' });
    // Others turn a POST into a GET: an answer that the SDK refuses.
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

/** JSON-RPC's range for errors of an implementation; as the SDK has it for a closed connection. */
const LOST = -32_000;
/** What came before the end of a stream is on its way through the SDK: an answer among it is the one that counts. */
const LAST_ANSWER_MS = 500;

function requestIdIn(body: unknown): string | number | null {
  const { id } = JSON.parse(String(body)) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/**
 * An answer to a POST ends; one that does not is cut at the bound. (The GET stream of notifications is endless.) The
 * SDK does not fail a request whose event stream broke off: it would wait for its time limit. A stream with event ids
 * can be taken up again, and is left to it.
 */
function bounded(response: undici.Response, onLost: (reason: string) => void): Response {
  const isStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
  let bytes = 0;
  let resumable = false;
  const over = (reason: string) => {
    if (isStream && !resumable) setTimeout(() => onLost(reason), LAST_ANSWER_MS).unref();
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
  // undici's types of streams and headers are its own.
  const counted =
    body === null ? null : (body as unknown as ReadableStream<Uint8Array>).pipeThrough(counting);
  return new Response(counted, { status, statusText, headers: [...response.headers] });
}
