import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Health } from './health.ts';

/**
 * `/healthz` and `/readyz` of a service on its own port. Plain node:http: three services have no other HTTP, and
 * Fastify for two routes costs each of them 4 MB and 0.16 s of CPU at the start.
 */
export async function startAdminServer(health: Health, host: string, port: number): Promise<AdminServer> {
  const server = createServer((request, response) => {
    void answerHealth(health, request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return { port: listeningPort(server), close: () => closeServer(server) };
}

export interface AdminServer {
  readonly port: number;
  close(): Promise<void>;
}

export const HEALTH_PATHS = ['/healthz', '/health', '/readyz'] as const;

async function answerHealth(
  health: Health,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = request.url?.split('?', 1)[0] ?? '';
  const { status, body } = await healthAnswer(health, request.method ?? 'GET', path);
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : text);
}

/** Shared with ingress, which answers the same on its public port. */
export async function healthAnswer(
  health: Health,
  method: string,
  path: string,
): Promise<{ readonly status: number; readonly body: unknown }> {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: { error: 'GET only' } };
  if (path === '/healthz' || path === '/health') return { status: 200, body: { status: 'ok' } };
  if (path !== '/readyz')
    return { status: 404, body: { error: `nothing at ${path}: there are ${HEALTH_PATHS.join(', ')}` } };
  const { ready, status, checks } = await health.readiness();
  return { status: ready ? 200 : 503, body: { status, checks } };
}

function listeningPort(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
