import { parseRetryAfter } from '@angelia/waiting';
import type { LookUpResult, SendResult, TargetSettings } from '../target.ts';
import type { AnswerHeaders, CallResult } from './http-call.ts';

/** Reading an answer, shared by the adapters of JSON APIs. */

export type Answered = Extract<CallResult, { kind: 'answered' }>;

/** How much of a platform's own words a reason holds: enough to act on, and no more than an event should hold. */
const MAX_WORDS = 300;

/** All that a reason may show of the URL of an API. */
export function apiOrigin(settings: TargetSettings): string {
  return new URL(String(settings.api_base)).origin;
}

/** The answer as an object; null if it is not one or cannot be read. */
export function objectIn({ body }: Answered): Readonly<Record<string, unknown>> | null {
  const value = jsonIn(body);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : null;
}

export function jsonIn(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null; // the status says the rest
  }
}

/** One line, without control characters. */
export function inOneLine(words: unknown, most = MAX_WORDS): string {
  if (typeof words !== 'string') return '';
  const line = words.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > most ? `${line.slice(0, most).toWellFormed()}...` : line;
}

/** `http 403 from https://api.example.com: its own words`. */
export function reasonOf(status: number, origin: string, words: unknown): string {
  const line = inOneLine(words);
  return `http ${status} from ${origin}${line === '' ? '' : `: ${line}`}`;
}

export function headerOf(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

export function retryAfterOf(headers: AnswerHeaders): number | null {
  return parseRetryAfter(headers['retry-after']);
}

/** Any 2xx. */
export function isTaken({ status }: Answered): boolean {
  return status >= 200 && status < 300;
}

/** A gateway that gave up on the server behind it does not know what the server did with the request. */
export function isGatewayError(status: number): boolean {
  return status === 502 || status === 504;
}

/** The result of a look-up that got no list. A passing failure is asked again later; a permanent refusal will never tell. */
export function notLookedUp(refused: Exclude<SendResult, { kind: 'taken' }>): LookUpResult {
  const { kind, reason } = refused;
  if (kind === 'permanent') return { kind: 'cannot-tell', reason };
  const { retryAfterSeconds } = refused as { readonly retryAfterSeconds?: number };
  return { kind: 'retryable', reason, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
}
