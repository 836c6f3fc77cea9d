import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { callerOf } from '../access/caller.ts';

/** Proxies drop a connection that is silent for 30 to 60 s. */
export const HEARTBEAT_MS = 15_000;
/** A client that reads nothing for this long counts as gone. It can resume with Last-Event-ID. */
export const STUCK_MS = 30_000;
/** When a client connects again after a drain, or when too many streams were open. */
export const RECONNECT_MS = 2_000;
export const STOPPING = 'this server is stopping: connect again';

/**
 * Begins to answer with server-sent events. Ends when the caller may no longer go on; a reconnect is then answered with 401,
 * after which an EventSource stays away. Null: it was a HEAD request, and is answered.
 */
export function startEventStream(reply: FastifyReply): ServerResponse | null {
  reply.hijack();
  const response = reply.raw;
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    // Otherwise nginx collects events until its buffer is full.
    'x-accel-buffering': 'no',
  });
  if (reply.request.method === 'HEAD') {
    response.end();
    return null;
  }
  const stopWaiting = callerOf(reply.request)?.onEnd?.(() => response.end(': signed out\n\n'));
  if (stopWaiting !== undefined) response.once('close', stopWaiting);
  return response;
}
