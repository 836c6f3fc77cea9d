// The baseline of the ingest figures: a Fastify server that only checks the HMAC of the raw body and answers.
// It runs as a separate process, like ingress. Usage: bare-server.ts <port> <secret>

import { createHmac, timingSafeEqual } from 'node:crypto';
import Fastify from 'fastify';

const [port, secret = ''] = process.argv.slice(2);
const app = Fastify({ logger: false });
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
  done(null, body),
);
app.post<{ Body: Buffer; Params: { route: string } }>('/webhooks/:route', (request, reply) => {
  const given = Buffer.from(String(request.headers['x-hub-signature-256'] ?? ''));
  const wanted = Buffer.from(`sha256=${createHmac('sha256', secret).update(request.body).digest('hex')}`);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
    return reply.code(401).send({ error: 'bad signature' });
  }
  return reply.code(202).send({
    status: 'accepted',
    route: request.params.route,
    event: 'bench',
    delivery_id: request.headers['x-github-delivery'],
    session_id: '00000000-0000-0000-0000-000000000000',
  });
});
await app.listen({ host: '127.0.0.1', port: Number(port) });
process.send?.('ready');
process.on('SIGTERM', () => process.exit(0));
