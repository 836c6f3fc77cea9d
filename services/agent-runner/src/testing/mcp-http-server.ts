import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { type TestToolsOptions, testTools } from './mcp-tools.ts';

export interface McpHttpServer {
  readonly url: string;
  readonly port: number;
  readonly sessions: number;
  readonly headers: readonly IncomingHttpHeaders[];
  /** Cuts every connection. */
  cut(): void;
  stop(): Promise<void>;
}

/** The official server transport, with a session per client as the protocol describes it. */
export async function startMcpHttpServer(
  options: TestToolsOptions & { port?: number; json?: boolean } = {},
): Promise<McpHttpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer(async (request, response) => {
    headers.push(request.headers);
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (id !== undefined && known === undefined) {
      response.writeHead(404).end('session not found');
      return;
    }
    const transport = known ?? (await newSession());
    await transport.handleRequest(request, response);
  });
  const newSession = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: options.json ?? false,
      onsessioninitialized: (id) => {
        sessions.set(id, transport);
      },
    });
    // The SDK's own types disagree under exactOptionalPropertyTypes.
    await testTools(options).connect(transport as Parameters<ReturnType<typeof testTools>['connect']>[0]);
    return transport;
  };
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    get sessions() {
      return sessions.size;
    },
    headers,
    cut: () => server.closeAllConnections(),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
