import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CuttableProxy {
  /** The same database, through the proxy. */
  readonly url: string;
  /** The next request is forwarded; its answer is dropped and the connection cut. */
  cutNextAnswer(): void;
  /** Accepts and says nothing, like a frozen Postgres, until thawed. */
  freeze(): void;
  thaw(): void;
  /** How many answers were cut. */
  cuts(): number;
  close(): Promise<void>;
}

/** A TCP proxy before Postgres that fails the way networks do. */
export async function startCuttableProxy(databaseUrl: string): Promise<CuttableProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let cutNext = false;
  let frozen = false;
  let cut = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    let cutting = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => {
      if (cutNext) {
        cutNext = false;
        cutting = true;
      }
      if (!frozen) upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (cutting) {
        cut += 1;
        client.destroy();
      } else if (!frozen) {
        client.write(chunk);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.toString(),
    cutNextAnswer: () => {
      cutNext = true;
    },
    freeze: () => {
      frozen = true;
    },
    thaw: () => {
      frozen = false;
      for (const socket of sockets) socket.destroy(); // What was swallowed is gone.
    },
    cuts: () => cut,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
