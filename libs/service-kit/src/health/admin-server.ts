import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { scrape } from '../metrics/collect.ts';
import { PROMETHEUS_CONTENT_TYPE } from '../metrics/prometheus-text.ts';
import type { CheckResult, Health } from './health.ts';

/**
 * Serves `/healthz`, `/readyz` and `/metrics` on a port of its own. It uses plain node:http: three services have no other
 * HTTP, and Fastify for three routes would cost each of them 4 MB and 0.16 s of CPU at the start.
 */
export async function startAdminServer(health: Health, host: string, port: number): Promise<AdminServer> {
  const server = createServer((request, response) => {
    void answer(health, request, response);
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

/** Open to everybody who reaches this port, so the port must not be public. The public port of ingress does not have it. */
const METRICS_PATH = '/metrics';

async function answer(health: Health, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url?.split('?', 1)[0] ?? '';
  const method = request.method ?? 'GET';
  const { status, type, text } =
    path === METRICS_PATH && (method === 'GET' || method === 'HEAD')
      ? { status: 200, type: PROMETHEUS_CONTENT_TYPE, text: await scrape() }
      : asJson(await healthAnswer(health, method, path));
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    // Probes come seconds apart. If the server closed idle connections after the same time, a client could send its next
    // request into a connection that is just being closed, and would think that the service is dead (seen with `angelia doctor`
    // on a starved machine).
    connection: 'close',
  });
  response.end(method === 'HEAD' ? undefined : text);
}

function asJson({ status, body }: { readonly status: number; readonly body: unknown }) {
  return { status, type: 'application/json; charset=utf-8', text: JSON.stringify(body) };
}

/**
 * Also used by ingress, which gives the same answers on its public port: without the problems of a config file, which are
 * nobody's business but the operator's.
 */
export async function healthAnswer(
  health: Health,
  method: string,
  path: string,
  { isPublic = false } = {},
): Promise<{ readonly status: number; readonly body: unknown }> {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: { error: 'GET only' } };
  if (path === '/healthz' || path === '/health') return { status: 200, body: { status: 'ok' } };
  if (path !== '/readyz')
    return {
      status: 404,
      body: {
        error: `there is nothing at ${path}: use one of ${[...HEALTH_PATHS, METRICS_PATH].join(', ')}`,
      },
    };
  const { ready, status, checks } = await health.readiness();
  return { status: ready ? 200 : 503, body: { status, checks: isPublic ? withoutProblems(checks) : checks } };
}

function withoutProblems(checks: Readonly<Record<string, CheckResult>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(checks).map(([name, { problems: _problems, ...rest }]) => [name, rest]),
  );
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
