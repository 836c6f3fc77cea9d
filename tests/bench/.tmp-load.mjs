import { createServer } from 'node:http';
import { Client, signedPost } from './load.ts';

const [url, count, inFlight, route = 'bench'] = process.argv.slice(2);
const waiting = new Map();
const server = createServer((q, s) => {
  const c = [];
  q.on('data', (d) => c.push(d));
  q.on('end', () => {
    s.writeHead(204).end();
    const { delivery_id: id } = JSON.parse(Buffer.concat(c));
    waiting.get(id)?.();
    waiting.delete(id);
  });
});
server.keepAliveTimeout = 60000;
await new Promise((r) => server.listen(39998, '127.0.0.1', r));
const client = new Client(url, 64, route);
let next = 0;
const t = performance.now();
await Promise.all(
  Array.from({ length: Number(inFlight) }, async () => {
    while (next < Number(count)) {
      const id = `l-${process.pid}-${next++}`;
      const a = new Promise((r) => waiting.set(id, r));
      const st = await client.post(signedPost('bench-secret', id));
      if (st !== 202) throw new Error(st);
      await a;
    }
  }),
);
console.log((Number(count) / ((performance.now() - t) / 1000)).toFixed(0), 'sessions/s');
process.exit(0);
