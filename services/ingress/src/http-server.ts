import type { Server } from 'node:http';
import type { Config } from '@angelia/contracts';
import type { FastifyHttpOptions, FastifyReply, FastifyRequest } from 'fastify';
import { answerClientError, answerError } from './answer-error.ts';

/** Senders finish a request in well under a second; whoever takes longer than this holds a socket for nothing. */
const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** How often Node looks for requests that are too slow; its own 30 s would double the limits above. */
const TIMEOUT_CHECK_MS = 5_000;
/** Longer than the 60 s after which load balancers drop an idle connection: they must be the first to close it. */
const KEEP_ALIVE_MS = 65_000;

/** How the public port treats strangers: size and time limits, and every error as `{"error": ...}`. */
export function httpServerOptions(config: Config): FastifyHttpOptions<Server> & { skipMiddie: true } {
  return {
    // Nest's middleware engine: nothing here is one, and every request would run through it.
    skipMiddie: true,
    bodyLimit: config.limits.max_body_bytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    },
    // Nothing here depends on a client's address, and forwarded headers are anybody's to write.
    trustProxy: false,
    requestIdHeader: false,
    frameworkErrors: (error: unknown, _request: FastifyRequest, reply: FastifyReply) => {
      answerError(reply, error);
    },
    clientErrorHandler: answerClientError,
  };
}
