import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** From here on there is made room, before there is no place for a new one. */
const NEARLY_FULL = 0.9;
/** Looking for idle ones goes through all connections. */
const CLOSE_IDLE_EVERY_MS = 1_000;
/** A client sends its headers as soon as it is connected: who has not after this long has to make room. */
const SLOW_MS = 2_000;

/**
 * At most so many connections: each costs some 10 KB before a request is on it, and up to 16 KB of headers more. Nearly
 * there, room is made for each new one: connections between two requests are closed, whose clients connect again as after any
 * pause, and of those that never sent the headers of a request the oldest. Beyond the number Node closes new ones at once.
 */
export function boundConnections(
  server: Server,
  most: number,
  /** Tests shorten it. */
  slowMs = SLOW_MS,
): void {
  server.maxConnections = most;
  let open = 0;
  let closedIdleAt = -Infinity;
  /** Without a request so far, the oldest first. */
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
    if (open < most * NEARLY_FULL) return;
    for (const [oldest, since] of silent) {
      if (now - since >= slowMs && oldest !== socket) oldest.destroy();
      break;
    }
    if (now - closedIdleAt < CLOSE_IDLE_EVERY_MS) return;
    closedIdleAt = now;
    server.closeIdleConnections();
  });
}
