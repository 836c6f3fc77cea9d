import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { isRetryable } from '@angelia/contracts';
import { ViewsOutdated } from '@angelia/event-log';
import { HttpException } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { CodedRefusal, Refusal } from './refusal.ts';

/** The log is back within seconds (a restart) or away for long. Senders double their own delay after that anyway. */
const RETRY_AFTER_SECONDS = 5;

/** A rebuild reads the whole log: seconds for a small one, minutes for a large one. */
const REBUILD_SECONDS = 30;

interface ErrorAnswer {
  readonly status: number;
  readonly message: string;
  /** Null: the status says enough. */
  readonly code: string | null;
  readonly retryAfterSeconds: number | null;
  /** Neither the client's fault nor an outage: somebody has to look at it. */
  readonly unexpected: boolean;
}

/** What a client is told about an error: what it can do. No stack, no internals, no text of an unknown error. */
export function errorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof Refusal) {
    const code = error instanceof CodedRefusal ? error.code : null;
    return { ...expected(error.status, error.message, error.retryAfterSeconds), code };
  }
  if (error instanceof ViewsOutdated) {
    return expected(
      503,
      'after an upgrade the views are being rebuilt, and this filter needs the new ones: try again in a while',
      REBUILD_SECONDS,
    );
  }
  if (error instanceof Error && isRetryable(error)) {
    // From the log: unavailable, overloaded, closing, not migrated yet.
    return expected(
      503,
      'the event log is not available right now: send it again later',
      RETRY_AFTER_SECONDS,
    );
  }
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  const known = typeof code === 'string' ? errorsByCode[code] : undefined;
  if (known !== undefined) return expected(...known);
  const status = error instanceof HttpException ? error.getStatus() : Number(statusCode);
  if (status === 404)
    return expected(404, 'there is nothing at this address: /openapi.json lists all addresses');
  if (status >= 400 && status < 500) {
    return expected(status, errorsByStatus[status] ?? STATUS_CODES[status] ?? 'bad request');
  }
  return {
    status: 500,
    message: 'internal error: see the log of ingress',
    code: null,
    retryAfterSeconds: null,
    unexpected: true,
  };
}

/** Errors of the log that the client caused, and errors that Fastify raises before our code sees the request. */
const errorsByCode: Readonly<Record<string, readonly [status: number, message: string]>> = {
  invalid_cursor: [
    400,
    'query parameter `cursor`: it is not a cursor of this list: leave it out to start at the first page',
  ],
  too_many_to_sort: [
    400,
    'query parameter `sort`: more than 50,000 sessions fit the filter: narrow it, for example with `since=1d`',
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: [
    413,
    'the body is larger than `limits.max_body_bytes` of the config allows: send a smaller one',
  ],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    415,
    'this content-type is not supported: send content-type application/json',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    400,
    'the body is not as long as content-length says: send the right length',
  ],
  FST_ERR_CTP_INVALID_JSON_BODY: [400, 'the body is not valid JSON: check its syntax'],
  FST_ERR_CTP_EMPTY_JSON_BODY: [400, 'the body is empty: send JSON, or leave out the content-type'],
  FST_ERR_BAD_URL: [400, 'the URL has a malformed percent-encoding: encode it again'],
  FST_ERR_MAX_PARAM_LENGTH: [404, 'there is nothing at this address: a part of it is longer than any name'],
};

/** Nest replaces the errors of its body parser with its own, which have no code. */
const errorsByStatus: Readonly<Record<number, string>> = {
  400: 'the request cannot be read: send valid JSON with content-type application/json',
  405: 'this address does not take the method of the request: `Allow` names those that it takes',
  413: 'the body is larger than `limits.max_body_bytes` of the config allows: send a smaller one',
  415: 'this content-type is not supported: send content-type application/json',
};

export function answerError(reply: FastifyReply, error: unknown): ErrorAnswer {
  const answer = errorAnswer(error);
  reply.code(answer.status).header('content-type', 'application/json; charset=utf-8');
  if (answer.retryAfterSeconds !== null) reply.header('retry-after', String(answer.retryAfterSeconds));
  if (answer.status === 401) reply.header('www-authenticate', 'Bearer');
  reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
  closeIfBodyIsLarge(reply);
  const { message, code } = answer;
  reply.send(JSON.stringify(code === null ? { error: message } : { error: message, code }));
  return answer;
}

/** A refused sender may still send this much on a connection that is kept: about what is in flight anyway. */
const MOST_DROPPED_BYTES = 65_536;

/** Node reads and drops the rest of a body before it takes the next request, for as long as a request may last. */
export function closeIfBodyIsLarge(reply: FastifyReply): void {
  const { complete, headers } = reply.request.raw;
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  const isLarge = length === undefined ? encoding !== undefined : Number(length) > MOST_DROPPED_BYTES;
  if (!complete && isLarge) reply.header('connection', 'close');
}

function expected(status: number, message: string, retryAfterSeconds: number | null = null): ErrorAnswer {
  return { status, message, code: null, retryAfterSeconds, unexpected: false };
}

const CLIENT_ERRORS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time: send it faster'],
  HPE_HEADER_OVERFLOW: [431, 'the headers are too large: send fewer or shorter ones'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'the chunk extensions are too large: leave them out'],
};

/** What is not HTTP never becomes a request. It is answered on the socket, which is then closed. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = CLIENT_ERRORS[error.code ?? ''] ?? [400, 'this is not a valid HTTP request'];
  const body = JSON.stringify({ error: message });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      'cache-control: no-store\r\nx-content-type-options: nosniff\r\n' +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
