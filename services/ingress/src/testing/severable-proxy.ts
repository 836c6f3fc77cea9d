import { connect, createServer, type Server, type Socket } from 'node:net';

/** A proxy for Postgres that a test can cut and restore. As in a real outage, connections die and new ones are refused. */
export interface SeverableProxy {
  /** The given URL, through the proxy. */
  readonly url: string;
  cut(): Promise<void>;
  restore(): Promise<void>;
}

export async function severable(postgresUrl: string): Promise<SeverableProxy> {
  const target = new URL(postgresUrl);
  const open = new Set<Socket>();
  const listen = (port: number): Promise<Server> =>
    new Promise((resolve, reject) => {
      const server = createServer((client) => {
        const upstream = connect(Number(target.port), target.hostname);
        for (const [from, to] of [
          [client, upstream],
          [upstream, client],
        ] as const) {
          open.add(from);
          from.on('error', () => to.destroy());
          from.on('close', () => {
            open.delete(from);
            to.destroy();
          });
          from.pipe(to);
        }
      });
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => resolve(server));
    });

  let server: Server | null = await listen(0);
  const { port } = server.address() as { port: number };
  const url = new URL(postgresUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.toString(),
    cut: async () => {
      const closing = server;
      server = null;
      const closed = new Promise<void>((resolve) =>
        closing === null ? resolve() : closing.close(() => resolve()),
      );
      for (const socket of open) socket.destroy();
      await closed;
    },
    restore: async () => {
      server ??= await listen(port);
    },
  };
}
