import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { readBody } from './http-server.ts';
import { selfSigned } from './self-signed-certificate.ts';

/**
 * A TLS proxy in front of a stand-in. It lets a test control how far a request gets. `pass`: the request goes through.
 * `no-handshake`: the connection is accepted but there is no handshake, so the client cannot have sent a request.
 * `no-answer`: the request goes through, and the response is held back until `release`.
 */
export interface TlsFront {
  readonly url: string;
  /** Number of connections without a handshake. */
  readonly stalled: number;
  /** Number of responses that are held back. */
  readonly held: number;
  behave(mode: 'pass' | 'no-handshake' | 'no-answer'): void;
  release(): void;
  stop(): Promise<void>;
}

/** A client trusts its certificate (selfSigned) if NODE_EXTRA_CA_CERTS names it. */
export async function startTlsFront(upstream: string): Promise<TlsFront> {
  let mode: 'pass' | 'no-handshake' | 'no-answer' = 'pass';
  let stalled = 0;
  const held: (() => void)[] = [];
  const sockets = new Set<Socket>();

  const forward = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(incoming);
    const answer = await new Promise<{ status: number; body: Buffer }>((resolve, reject) => {
      const onward = httpRequest(
        new URL(incoming.url ?? '/', upstream),
        { method: incoming.method, headers: incoming.headers },
        (received) => {
          readBody(received).then(
            (read) => resolve({ status: received.statusCode ?? 502, body: read }),
            reject,
          );
        },
      );
      onward.on('error', reject);
      onward.end(body);
    });
    const give = () =>
      void response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
    if (mode === 'no-answer') held.push(give);
    else give();
  };
  const tls = createTlsServer(selfSigned, (incoming, response) => {
    forward(incoming, response).catch(() => response.destroy());
  });
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // A killed client resets its connections.
    socket.on('error', () => {});
    if (mode === 'no-handshake') stalled += 1;
    else tls.emit('connection', socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get stalled() {
      return stalled;
    },
    get held() {
      return held.length;
    },
    behave(next) {
      mode = next;
      // A client that keeps a connection open would send its next request over that one, without a handshake.
      if (next === 'no-handshake') for (const socket of sockets) socket.destroy();
    },
    release() {
      for (const give of held.splice(0)) give();
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
