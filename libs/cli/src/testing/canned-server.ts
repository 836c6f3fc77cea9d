import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that answers as the test says, for what a whole stack cannot show: broken connections, jobs that never end. */
export interface CannedServer {
  /** Where the command line finds it. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function startCannedServer(
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<CannedServer> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => answer(request, response, body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    env: { ANGELIA_URL: `http://127.0.0.1:${port}`, ANGELIA_ADMIN_TOKEN: 't', NO_COLOR: '1' },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function answerJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
