import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** From this share of the limit on, old connections are closed for new ones. */
const NEARLY_FULL = 0.9;
/** Looking for idle connections goes through all of them. */
const CLOSE_IDLE_EVERY_MS = 1_000;
/** A client sends its headers as soon as it is connected. After this long without headers it may be closed. */
const SLOW_MS = 2_000;

/**
 * Limits the number of connections. Each costs about 10 KB before it has a request, and up to 16 KB more for headers.
 * Near the limit each new connection makes the server close idle ones (their clients connect again, as after any pause)
 * and the oldest one that never sent the headers of a request. At the limit Node closes new connections at once.
 */
export function limitConnections(
  server: Server,
  /** Asked for every connection: the config may change. */
  most: () => number,
  /** Tests shorten it. */
  slowMs = SLOW_MS,
): void {
  server.maxConnections = most();
  let open = 0;
  let closedIdleAt = -Infinity;
  /** Connections without a request so far, the oldest first. */
  const silent = new Map<Socket, number>();
  server.on('request', ({ socket }) => silent.delete(socket));
  server.on('connection', (socket) => {
    const now = performance.now();
    open += 1;
    silent.set(socket, now);
    socket.once('close', () => {
      open -= 1;
      silent.delete(socket);
    });
    server.maxConnections = most();
    if (open < server.maxConnections * NEARLY_FULL) return;
    for (const [oldest, since] of silent) {
      if (now - since >= slowMs && oldest !== socket) oldest.destroy();
      break;
    }
    if (now - closedIdleAt < CLOSE_IDLE_EVERY_MS) return;
    closedIdleAt = now;
    server.closeIdleConnections();
  });
}
