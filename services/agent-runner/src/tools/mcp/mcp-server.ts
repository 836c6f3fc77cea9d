import { scrubber } from '@angelia/config';
import type { McpServerConfig } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import { abortable, pause } from '@angelia/waiting';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Tool as ListedTool } from '@modelcontextprotocol/sdk/types.js';
import type { CallContext, RunnerTool, ToolResult } from '../tool.ts';
import { ToolsetError } from '../tool-set.ts';
import type { argumentChecks } from './argument-checks.ts';
import { capped, readResult } from './result-text.ts';
import { toolName } from './tool-names.ts';
import { networkVariables, openTransport } from './transport.ts';

/** A program has to start and answer; `npx` may have to download it first. */
const CONNECT_TIMEOUT_MS = 30_000;
const LIST_TIMEOUT_MS = 10_000;
/** Of a stack trace, the end says what happened, and the beginning of its last lines where. */
const MOST_LAST_LINES = 20;
/** In characters. What a server says about its tools is a page at most; more would crowd out the agent's own instructions. */
const LONGEST_INSTRUCTIONS = 8_000;
/** A reason is a sentence or two. What a proxy sends with a 502 is a page. */
const LONGEST_REASON = 2_000;
/** A reason, and what its program wrote to stderr. */
const LONGEST_DESCRIPTION = 2 * LONGEST_REASON + 100;
/** No new try for this long after a failed connection: hundreds of runs must not start hundreds of programs. */
const COOL_DOWN_MS = 1_000;
/** A server reports a change of its tools if it can. This is for servers that cannot. */
const LIST_MAX_AGE_MS = 5 * 60_000;
/** Providers accept about 128 tools per request. A server with more pages than this goes round in circles. */
const MOST_PAGES = 20;

interface ToolList {
  readonly tools: readonly RunnerTool[];
  readonly at: number;
}

/**
 * One MCP server, shared by all runs of this runner.
 *
 *   away --a run needs its tools, or calls one--> connecting --connected--> up --it ends, or forgets our session--> away
 *   connecting --fails--> away, without another try for COOL_DOWN_MS
 *
 * A failed call is a result for the model, which says whether the call may have taken effect. A run that cannot be given
 * the tools at all fails. The list of tools is kept while the server is away.
 */
export class McpServer {
  readonly #name: string;
  readonly #config: McpServerConfig;
  readonly #logger: Logger;
  /** Removes all values of its `env` and `headers`: it may print any of them, and quote them in errors. */
  readonly #scrub: (text: string) => string;
  #client: Client | null = null;
  #connecting: Promise<Client> | null = null;
  /** The connection that is being made. Closing it ends the wait for it. */
  #opening: Transport | null = null;
  #failure: { readonly error: Error; readonly until: number } | null = null;
  /** Null: it must be read again. */
  #list: ToolList | null = null;
  /** The last list that was read, however old. */
  #stale: readonly RunnerTool[] | null = null;
  #listing: Promise<readonly RunnerTool[]> | null = null;
  /** How often the list was said to have changed. */
  #changes = 0;
  /** How often the server itself said so. */
  #announced = 0;
  /** The end of what its program wrote to stderr, scrubbed. */
  #lastWords: string[] = [];
  #closed = false;

  constructor(name: string, config: McpServerConfig, logger: Logger) {
    this.#name = name;
    this.#config = config;
    this.#logger = logger.child({ mcp_server: name });
    this.#scrub = scrubber([
      ...Object.values(config.headers ?? {}),
      ...Object.values(config.env ?? {}),
      ...(config.command === undefined ? [] : proxyCredentials()),
    ]);
  }

  /** @throws ToolsetError when the server cannot be reached and never was */
  async tools(): Promise<readonly RunnerTool[]> {
    if (this.#list !== null && performance.now() - this.#list.at < LIST_MAX_AGE_MS) return this.#list.tools;
    try {
      return await this.#listNow();
    } catch {
      if (!this.#closed) await pause(COOL_DOWN_MS);
    }
    try {
      return await this.#listNow();
    } catch (error) {
      if (this.#stale === null) {
        throw new ToolsetError(
          'toolset_unavailable',
          `MCP server ${this.#name}: ${this.#describe(error, LONGEST_DESCRIPTION)}`,
          {
            cause: error,
          },
        );
      }
      this.#logger.warn(
        { reason: this.#describe(error) },
        'MCP server cannot be reached; using its last list of tools',
      );
      return this.#stale;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = this.#client;
    this.#client = null;
    await Promise.all([client?.close(), this.#opening?.close()]);
  }

  #listNow(): Promise<readonly RunnerTool[]> {
    this.#listing ??= this.#readList().finally(() => {
      this.#listing = null;
    });
    return this.#listing;
  }

  async #readList(): Promise<readonly RunnerTool[]> {
    if (this.#closed) throw new Error(GOING_DOWN);
    const [{ ListToolsResultSchema }, checking] = await Promise.all([
      import('@modelcontextprotocol/sdk/types.js'),
      import('./argument-checks.ts'),
    ]);
    const client = await this.#connection();
    const changes = this.#changes;
    const announcedBefore = this.#announced;
    const at = performance.now();
    const listed: ListedTool[] = [];
    let cursor: string | undefined;
    for (let pages = 1; ; pages += 1) {
      const params = cursor === undefined ? {} : { cursor };
      // Not `listTools`, which also compiles every output schema: one broken schema would cost us all tools.
      const page = await client.request({ method: 'tools/list', params }, ListToolsResultSchema, {
        timeout: LIST_TIMEOUT_MS,
      });
      listed.push(...page.tools);
      cursor = page.nextCursor;
      if (cursor === undefined) break;
      if (pages === MOST_PAGES) throw new Error(`its list of tools has more than ${MOST_PAGES} pages`);
    }
    const checks = checking.argumentChecks();
    const offered = listed.filter(({ execution }) => execution?.taskSupport !== 'required');
    if (offered.length < listed.length) {
      const needTasks = listed.filter((tool) => !offered.includes(tool)).map(({ name }) => name);
      this.#logger.warn({ tools: needTasks }, 'MCP server: tools that only run as tasks are not offered');
    }
    const said = (client.getInstructions() ?? '').trim();
    const instructions =
      said === ''
        ? {}
        : { instructions: { server: this.#name, text: shortened(said, LONGEST_INSTRUCTIONS) } };
    const isOutdated = () => this.#announced !== announcedBefore;
    const tools = offered.map((tool) => ({ ...this.#tool(tool, checks), ...instructions, isOutdated }));
    this.#stale = tools;
    // If it changed while it was read, it is used now and read again for the next run.
    this.#list = changes === this.#changes ? { tools, at } : null;
    this.#logger.info({ tools: tools.length }, 'MCP server: list of tools read');
    return tools;
  }

  #tool(listed: ListedTool, checks: ReturnType<typeof argumentChecks>): RunnerTool {
    return {
      name: toolName(this.#name, listed.name),
      by: 'runner',
      description: listed.description ?? listed.title ?? '',
      parameters: listed.inputSchema,
      // Calls follow each other in the model's order, unless the server says that the tool has no side effects.
      parallel: listed.annotations?.readOnlyHint === true,
      check: checks(listed.inputSchema),
      run: (args, call) => this.#call(listed.name, args as Record<string, unknown>, call),
    };
  }

  async #call(tool: string, args: Record<string, unknown>, { signal }: CallContext): Promise<ToolResult> {
    const { CallToolResultSchema } = await import('@modelcontextprotocol/sdk/types.js');
    const timeout = this.#config.timeout_seconds * 1000;
    for (let tries = 1; ; tries += 1) {
      let client: Client;
      try {
        client = await abortable(this.#connection(), signal);
      } catch (error) {
        signal.throwIfAborted();
        return failed(this.#notReached(this.#describe(error, LONGEST_DESCRIPTION)));
      }
      const lastWords = this.#lastWords;
      try {
        const result = await client.request(
          { method: 'tools/call', params: { name: tool, arguments: args } },
          CallToolResultSchema,
          // Progress does not reset it: a tool that reports for ever would hold the run for ever.
          { signal, timeout, maxTotalTimeout: timeout },
        );
        const { text, images } = readResult(result);
        return {
          outcome: result.isError === true ? 'error' : 'ok',
          result: text,
          ...(images.length === 0 ? {} : { images }),
        };
      } catch (error) {
        signal.throwIfAborted();
        if (sessionIsUnknown(error)) {
          await this.#drop(client);
          if (tries === 1) continue;
        }
        await stderrRead();
        return failed(this.#explain(error, client, lastWords));
      }
    }
  }

  #explain(error: unknown, client: Client, lastWords: readonly string[]): string {
    const { code } = error as { code?: unknown };
    const MAY_HAVE = 'It may have taken effect: check before you do it again.';
    if (code === REQUEST_TIMEOUT) {
      return `No answer within ${this.#config.timeout_seconds} seconds. ${MAY_HAVE}`;
    }
    const network = networkProblem(error);
    if (network?.sent === false) return this.#notReached(network.reason);
    if (code === CONNECTION_CLOSED || network !== null || this.#client !== client) {
      return `The connection to MCP server ${this.#name} was lost during the call (${this.#describe(error)}${quoted(lastWords)}). ${MAY_HAVE}`;
    }
    return this.#describe(error);
  }

  /** The error for the model and the operator, scrubbed: a server may quote the key that it refuses. */
  #describe(error: unknown, longest = LONGEST_REASON): string {
    return this.#scrub(messageOf(error)).slice(0, longest);
  }

  #notReached(reason: string): string {
    return `MCP server ${this.#name} could not be reached, the call was not made (${reason}).`;
  }

  #connection(): Promise<Client> {
    if (this.#closed) return Promise.reject(new Error(GOING_DOWN));
    if (this.#client !== null) return Promise.resolve(this.#client);
    if (this.#failure !== null && performance.now() < this.#failure.until) {
      return Promise.reject(this.#failure.error);
    }
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #connect(): Promise<Client> {
    const [{ Client: McpClient }, { ToolListChangedNotificationSchema }] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    const lastWords: string[] = [];
    this.#lastWords = lastWords;
    const transport = await openTransport(this.#config, (line) => {
      const written = this.#scrub(line).slice(0, LONGEST_REASON);
      lastWords.push(written);
      if (lastWords.length > MOST_LAST_LINES) lastWords.shift();
      this.#logger.debug({ line: written }, 'MCP server wrote to stderr');
    });
    const client = new McpClient({ name: 'angelia', version: '1' }, { capabilities: {} });
    client.onerror = (error) =>
      this.#logger.debug({ reason: this.#describe(error) }, 'MCP connection has a problem');
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      this.#announced += 1;
      this.#listChanged();
    });
    this.#opening = transport;
    try {
      if (this.#closed) throw new Error(GOING_DOWN);
      await client.connect(transport, { timeout: CONNECT_TIMEOUT_MS });
    } catch (error) {
      await transport.close().catch(() => {});
      await stderrRead();
      const reason = `${this.#describe(error)}${quoted(lastWords)}`;
      const failure = new Error(`cannot be reached (${reason})`, { cause: error });
      this.#failure = { error: failure, until: performance.now() + COOL_DOWN_MS };
      this.#logger.warn({ reason }, 'MCP server cannot be reached');
      throw failure;
    } finally {
      this.#opening = null;
    }
    this.#failure = null;
    this.#client = client;
    client.onclose = () => {
      if (this.#client !== client) return;
      this.#client = null;
      // It may come back as another version.
      this.#listChanged();
      this.#logger.warn({}, 'connection to an MCP server lost; will reconnect when needed');
    };
    return client;
  }

  #listChanged(): void {
    this.#changes += 1;
    this.#list = null;
  }

  async #drop(client: Client): Promise<void> {
    if (this.#client === client) this.#client = null;
    await client.close();
  }
}

/** The pipe of a program that died is read in the next turns of the event loop. */
const stderrRead = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

function quoted(lastWords: readonly string[]): string {
  if (lastWords.length === 0) return '';
  // The end says why.
  return `; its stderr ends: ${lastWords.join('\n').slice(-LONGEST_REASON)}`;
}

function shortened(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}\n[... shortened ...]`;
}

/** The program gets the URL of the proxy, and may print it. */
function proxyCredentials(): string[] {
  return Object.values(networkVariables()).flatMap((value) => {
    const [, user, password] = /^[a-z]+:\/\/([^/:@]*):?([^/@]*)@/i.exec(value) ?? [];
    return [user ?? '', password ?? ''].flatMap((part) => (part === '' ? [] : [part, decoded(part)]));
  });
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const GOING_DOWN = 'this runner is stopping';

/** The SDK's codes, repeated here because the SDK is loaded only with a server. */
const CONNECTION_CLOSED = -32_000;
const REQUEST_TIMEOUT = -32_001;

/** A restarted server does not know our session: it refused the request and did nothing. */
function sessionIsUnknown(error: unknown): boolean {
  const { name, code } = error as { name?: unknown; code?: unknown };
  return name !== 'McpError' && (code === 404 || code === 400);
}

function failed(reason: string): ToolResult {
  return { outcome: 'error', result: capped(reason) };
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return networkProblem(error)?.reason ?? error.message;
}

/** There was no connection, so the server cannot have received the call. */
const UNSENT = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
];

/** fetch only says "fetch failed"; its cause says why. */
function networkProblem(error: unknown): { readonly reason: string; readonly sent: boolean } | null {
  const { message, cause } = error as { message?: unknown; cause?: { message?: string; code?: string } };
  if (message !== 'fetch failed' || cause === undefined) return null;
  const { code = '' } = cause;
  return { reason: cause.message || code, sent: !UNSENT.includes(code) };
}
