import type { Server } from 'node:http';
import type { Config } from '@angelia/contracts';
import type { FastifyHttpOptions, FastifyReply, FastifyRequest } from 'fastify';
import { answerClientError, answerError } from './answer-error.ts';

export interface TimeLimits {
  /** Senders finish a request in well under a second; whoever takes longer than this holds a socket for nothing. */
  readonly requestMs: number;
  readonly headersMs: number;
  /** How often Node looks for requests that are too slow; its own 30 s would double the limits above. */
  readonly checkMs: number;
}

const timeLimits: TimeLimits = { requestMs: 30_000, headersMs: 10_000, checkMs: 5_000 };
/** Longer than the 60 s after which load balancers drop an idle connection: they must be the first to close it. */
const KEEP_ALIVE_MS = 65_000;

/** How the public port treats strangers: size and time limits, and every error as `{"error": ...}`. */
export function httpServerOptions(
  config: Config,
  /** Tests shorten them. */
  limits: TimeLimits = timeLimits,
): FastifyHttpOptions<Server> & { skipMiddie: true } {
  const trusted = config.limits.trusted_proxies;
  return {
    // Nest's middleware engine: nothing here is one, and every request would run through it.
    skipMiddie: true,
    bodyLimit: config.limits.max_body_bytes,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: limits.checkMs,
    },
    // Limits per address count by it. Forwarded headers are anybody's to write, unless a proxy of the operator's wrote them.
    trustProxy: trusted.length === 0 ? false : trusted,
    requestIdHeader: false,
    // What still comes on an open connection while we drain is taken: the log is closed last, and says 503 in the form
    // of the interface. Fastify's own 503 has neither that form nor a Retry-After.
    return503OnClosing: false,
    frameworkErrors: (error: unknown, _request: FastifyRequest, reply: FastifyReply) => {
      answerError(reply, error);
    },
    clientErrorHandler: answerClientError,
  };
}
