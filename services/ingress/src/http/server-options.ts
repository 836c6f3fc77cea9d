import type { Server } from 'node:http';
import type { Config } from '@angelia/contracts';
import type { FastifyHttpOptions, FastifyReply, FastifyRequest } from 'fastify';
import { answerClientError, answerError } from './answer-error.ts';

export interface TimeLimits {
  /** Senders finish a request in well under a second. A longer one holds a socket for nothing. */
  readonly requestMs: number;
  readonly headersMs: number;
  /** How often Node looks for slow requests. Its default of 30 s would double the limits above. */
  readonly checkMs: number;
}

const timeLimits: TimeLimits = { requestMs: 30_000, headersMs: 10_000, checkMs: 5_000 };
/** Load balancers drop an idle connection after 60 s. They must close it first. */
const KEEP_ALIVE_MS = 65_000;

/** Size and time limits of the public port. Every error is answered as `{"error": ...}`. */
export function httpServerOptions(
  config: Config,
  /** Tests shorten them. */
  limits: TimeLimits = timeLimits,
): FastifyHttpOptions<Server> & { skipMiddie: true } {
  const trusted = config.limits.trusted_proxies;
  return {
    // Nest's middleware engine. We have no middleware, and every request would run through it.
    skipMiddie: true,
    bodyLimit: config.limits.max_body_bytes,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: limits.checkMs,
    },
    // Limits per address depend on this. Anybody can write forwarded headers, so only the operator's proxies are trusted.
    trustProxy: trusted.length === 0 ? false : trusted,
    requestIdHeader: false,
    // Requests on open connections are still taken while we drain: the log is closed last, and its 503 has the form of
    // the interface. Fastify's own 503 has neither that form nor a Retry-After.
    return503OnClosing: false,
    frameworkErrors: (error: unknown, _request: FastifyRequest, reply: FastifyReply) => {
      answerError(reply, error);
    },
    clientErrorHandler: answerClientError,
  };
}
