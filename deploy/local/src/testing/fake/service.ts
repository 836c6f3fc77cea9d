// A stand-in for a service: takes the same environment and signals, and does nothing else. FAKE_* variables make it
// misbehave.

import { existsSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';

const {
  ANGELIA_INSTANCE = '',
  ANGELIA_ADMIN_PORT,
  ANGELIA_PORT,
  FAKE_REFUSES,
  FAKE_DRAIN_MS,
  FAKE_NEVER_READY,
  FAKE_REFUSAL_FILE,
} = process.env;

if (FAKE_REFUSES === ANGELIA_INSTANCE || (FAKE_REFUSAL_FILE && existsSync(FAKE_REFUSAL_FILE))) {
  console.error('angelia: routes.demo.agent (angelia.yaml): there is no agent "x"');
  process.exit(78);
}

const answer: RequestListener = (request, response) => {
  if (request.url?.startsWith('/v1/routes')) {
    response.end(JSON.stringify({ items: [{ name: 'hook', source: 'config', status: 'active' }] }));
    return;
  }
  response.statusCode = request.url === '/readyz' && !FAKE_NEVER_READY ? 200 : 404;
  response.end();
};
const ports = [ANGELIA_ADMIN_PORT, ANGELIA_INSTANCE.startsWith('ingress') ? ANGELIA_PORT : undefined];
for (const port of ports) if (port) createServer(answer).listen(Number(port), '127.0.0.1');
console.log(
  JSON.stringify({ level: 30, time: Date.now(), msg: 'listening', admin_port: Number(ANGELIA_ADMIN_PORT) }),
);

const log = (msg: string) => console.log(JSON.stringify({ level: 30, time: Date.now(), msg }));
process.on('SIGTERM', () => {
  log('draining');
  setTimeout(
    () => {
      log('drained');
      process.exit(0);
    },
    Number(FAKE_DRAIN_MS ?? 0),
  );
});
