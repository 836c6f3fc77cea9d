import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The target of all answers. It records when each delivery id arrived, and answers at once. */
export interface BenchSink {
  readonly url: string;
  arrived(deliveryId: string): Promise<number>;
  readonly doubled: number;
  close(): Promise<void>;
}

export async function startBenchSink(): Promise<BenchSink> {
  const waiting = new Map<string, (at: number) => void>();
  const seen = new Set<string>();
  let doubled = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const at = performance.now();
      response.writeHead(204).end();
      const { delivery_id: id } = JSON.parse(Buffer.concat(chunks).toString()) as { delivery_id: string };
      if (seen.has(id)) doubled += 1;
      seen.add(id);
      waiting.get(id)?.(at);
      waiting.delete(id);
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/answers`,
    arrived: (id) => new Promise((resolve) => waiting.set(id, resolve)),
    get doubled() {
      return doubled;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
