import { parseRetryAfter } from '@angelia/waiting';
import type { SendResult } from '../target.ts';

/** What a status code says about the delivery. A reason may show only the `origin` of the URL. */
export function classifyAnswer(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  origin: string,
  now: number,
): SendResult {
  if (status >= 200 && status < 300) return { kind: 'taken', receipt: `http ${status}` };
  const answered = `http ${status} from ${origin}`;
  if (status >= 300 && status < 400) {
    // A redirect could lead anywhere, with our signature on the request. The operator writes the final URL.
    return {
      kind: 'permanent',
      reason: `${answered}: redirects are not followed${redirectOrigin(headers, origin)}`,
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

/** Request timeout, conflict (another attempt of ours may be in progress there), too early, too many, and server errors. */
function isWorthRetrying(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500;
}

function redirectOrigin(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  base: string,
): string {
  const location = headers.location;
  if (typeof location !== 'string' || !URL.canParse(location, base)) return '';
  return ` (it points to ${new URL(location, base).origin})`;
}
