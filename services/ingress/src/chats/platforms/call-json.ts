/** JSON calls of platforms, for their adapters here. delivery has its own way to send: it must know whether a request went out. */

/** A platform refused a call. Its words hold no secret of ours. */
export class CallRefused extends Error {
  override readonly name = 'CallRefused';
  readonly status: number;
  readonly answer: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds: number | null;

  constructor(
    what: string,
    status: number,
    answer: Readonly<Record<string, unknown>>,
    retryAfterSeconds: number | null,
  ) {
    super(`${what}: ${status} ${wordsOf(answer)}`.trimEnd());
    this.status = status;
    this.answer = answer;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export interface JsonCall {
  /** For error messages: the platform and the call. Never the address, which may hold a token. */
  readonly what: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
  readonly mostBytes?: number;
}

const CALL_MS = 15_000;
/** A sync of many rooms after a long outage has some megabytes. */
const LARGEST_ANSWER = 32 * 1024 * 1024;

/** The answer's JSON; `{}` if it has no body. @throws CallRefused, TooLong, or Error if no answer came */
export async function callJson(call: JsonCall): Promise<unknown> {
  const { what, method, url, headers, body, signal, timeoutMs = CALL_MS, mostBytes = LARGEST_ANSWER } = call;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: limit,
    });
    text = Buffer.from(await readAtMost(response, mostBytes)).toString('utf8');
  } catch (error) {
    if (error instanceof TooLong) throw error;
    throw new Error(`${what}: ${whyUnanswered(error, limit)}`);
  }
  if (response.ok) return text === '' ? {} : JSON.parse(text);
  throw new CallRefused(what, response.status, objectIn(text), retryAfterOf(response.headers));
}

export interface FileCall {
  readonly what: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly mostBytes: number;
  readonly signal: AbortSignal;
}

const FILE_MS = 60_000;

/** @throws CallRefused, TooLong, or Error if no answer came */
export async function fetchBytes({ what, url, headers, mostBytes, signal }: FileCall): Promise<Uint8Array> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(FILE_MS)]);
  try {
    const response = await fetch(url, { headers, redirect: 'error', signal: limit });
    if (!response.ok) {
      await response.body?.cancel();
      throw new CallRefused(what, response.status, {}, null);
    }
    return await readAtMost(response, mostBytes);
  } catch (error) {
    if (error instanceof CallRefused || error instanceof TooLong) throw error;
    throw new Error(`${what}: ${whyUnanswered(error, limit)}`);
  }
}

export class TooLong extends Error {
  override readonly name = 'TooLong';
}

async function readAtMost(response: Response, most: number): Promise<Uint8Array> {
  const tooLong = new TooLong(`it has more than ${most} bytes`);
  if (Number(response.headers.get('content-length') ?? 0) > most) {
    await response.body?.cancel();
    throw tooLong;
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the rest of the body.
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > most) throw tooLong;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** A failed fetch has the reason in its cause. Its own message may hold the address. */
function whyUnanswered(error: unknown, limit: AbortSignal): string {
  if (limit.aborted) return 'no answer in time';
  const { code } = ((error as { cause?: unknown }).cause ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : 'no answer';
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const LONGEST_WORDS = 300;

/** Discord says `message` and `code`, Matrix `errcode` and `error`. */
function wordsOf({ message, code, errcode, error }: Readonly<Record<string, unknown>>): string {
  const words = [errcode, error, message].filter((word) => typeof word === 'string').join(' ');
  const number = typeof code === 'number' && code !== 0 ? ` (${code})` : '';
  return (words.replace(/[\s\p{Cc}]+/gu, ' ') + number).slice(0, LONGEST_WORDS).toWellFormed();
}

function retryAfterOf(headers: Headers): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
}
