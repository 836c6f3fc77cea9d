import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CuttableProxy {
  /** The same database, through the proxy. */
  readonly url: string;
  /** Forwards the next request, drops its answer and cuts the connection. */
  cutNextAnswer(): void;
  /** Accepts and stays silent, like a frozen Postgres, until thawed. */
  freeze(): void;
  /** Answers as a Postgres in recovery does (57P03), until thawed. */
  startUp(): void;
  /** Disconnects everybody, until thawed. */
  hangUp(): void;
  thaw(): void;
  /** How many answers were cut. */
  cuts(): number;
  close(): Promise<void>;
}

/** The message E of the protocol: each field starts with a letter. */
const STARTING_UP = (() => {
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0');
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
})();

/** A TCP proxy in front of Postgres that fails as networks do. */
export async function startCuttableProxy(databaseUrl: string): Promise<CuttableProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let cutNext = false;
  let frozen = false;
  let refusal: Buffer | null = null;
  let cut = 0;
  const server = createServer((client) => {
    if (refusal !== null) {
      const answer = refusal;
      client.on('error', () => client.destroy());
      client.once('data', () => client.end(answer));
      return;
    }
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
    startUp: () => {
      refusal = STARTING_UP;
    },
    hangUp: () => {
      refusal = Buffer.alloc(0);
    },
    thaw: () => {
      frozen = false;
      refusal = null;
      for (const socket of sockets) socket.destroy(); // Swallowed requests never get an answer.
    },
    cuts: () => cut,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
