import type { Server } from 'node:http';

/** From here on idle connections are closed, before there is no place for a new one. */
const NEARLY_FULL = 0.9;
/** Looking for idle ones goes through all connections. */
const CLOSE_IDLE_EVERY_MS = 1_000;

/**
 * At most so many connections: each costs memory before a request is on it, some 10 KB, and up to 16 KB of headers more.
 * Nearly there, those between two requests are closed; their clients connect again, as after any pause. One that does not
 * send its headers is closed by Node after `headersTimeout`. Beyond the number Node closes new ones at once.
 */
export function boundConnections(server: Server, most: number): void {
  server.maxConnections = most;
  let open = 0;
  let closedIdleAt = -Infinity;
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    if (open < most * NEARLY_FULL) return;
    const now = performance.now();
    if (now - closedIdleAt < CLOSE_IDLE_EVERY_MS) return;
    closedIdleAt = now;
    server.closeIdleConnections();
  });
}
