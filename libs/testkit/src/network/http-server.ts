import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ListeningServer {
  readonly server: Server;
  readonly port: number;
  readonly url: string;
  /** Closes open connections too, so that a stand-in that hangs does not block the test run. */
  stop(): Promise<void>;
}

/** Listens on a free port of the loopback interface. */
export async function listen(onRequest: RequestListener, port = 0): Promise<ListeningServer> {
  const server = createServer({ keepAliveTimeout: 60_000 }, onRequest);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  return {
    server,
    port: bound,
    url: `http://127.0.0.1:${bound}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
