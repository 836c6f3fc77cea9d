import { parseRetryAfter } from '@angelia/waiting';
import { headerOf, inOneLine, reasonOf } from '../calls/api-answer.ts';
import type { AnswerHeaders } from '../calls/http-call.ts';
import type { SendResult } from '../target.ts';

/** Enough to act on. Any server may be behind a URL, so it is less than a platform that we know gets. */
const MAX_WORDS = 200;

interface Refusal {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** The receiver's own words (`wordsOf`), or ''. */
  readonly words: string;
}

/** What a status code says about the delivery. A reason may show only the `origin` of the URL. */
export function classifyAnswer({ status, headers, words }: Refusal, origin: string, now: number): SendResult {
  if (status >= 200 && status < 300) return { kind: 'taken', receipt: `http ${status}` };
  const answered = reasonOf(status, origin, words);
  if (status >= 300 && status < 400) {
    // A redirect could lead anywhere, with our signature on the request. The operator writes the final URL.
    return {
      kind: 'permanent',
      reason: `${reasonOf(status, origin, '')}: redirects are not followed${redirectOrigin(headers, origin)}`,
    };
  }
  if (isWorthRetrying(status)) {
    const retryAfterSeconds = parseRetryAfter(headers['retry-after'], now);
    return retryAfterSeconds === null
      ? { kind: 'retryable', reason: answered }
      : { kind: 'retryable', reason: answered, retryAfterSeconds };
  }
  return { kind: 'permanent', reason: answered };
}

/**
 * The beginning of a refusal as one line of plain text. `scrub` removes our secrets before the line is cut, because half a secret
 * would not be found afterwards.
 */
export function wordsOf(body: string, headers: AnswerHeaders, scrub: (text: string) => string): string {
  const isHtml = headerOf(headers, 'content-type')?.startsWith('text/html') ?? false;
  const text = isHtml ? body.replace(/<(script|style)\b.*?<\/\1>|<[^>]*>?/gis, ' ') : body;
  const line = inOneLine(scrub(inOneLine(text, Number.POSITIVE_INFINITY)), MAX_WORDS);
  return SAYS_NOTHING.has(line) ? '' : line;
}

/** Empty JSON. */
const SAYS_NOTHING = new Set(['{}', '[]', '""', 'null']);

/** Request timeout, conflict (another attempt of ours may be in progress there), too early, too many, and server errors. */
function isWorthRetrying(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500;
}

function redirectOrigin(headers: AnswerHeaders, base: string): string {
  const location = headers.location;
  if (typeof location !== 'string' || !URL.canParse(location, base)) return '';
  return ` (it points to ${new URL(location, base).origin})`;
}
