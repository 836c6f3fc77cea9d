import { createHash } from 'node:crypto';
import type { Agent } from 'undici';
import { DUPLICATE_MARK } from '../../text/cut/chunk.ts';
import { chunksWithoutMentions } from '../../text/cut/neutralize-mentions.ts';
import {
  type Answered,
  apiOrigin,
  headerOf,
  inOneLine,
  isGatewayError,
  isTaken,
  jsonIn,
  notLookedUp,
  objectIn,
  reasonOf,
  retryAfterOf,
} from '../calls/api-answer.ts';
import { type CallResult, callHttp, connections, type HttpCall } from '../calls/http-call.ts';
import type {
  EditResult,
  LookUpResult,
  SendRequest,
  SendResult,
  Target,
  TargetAddress,
  TargetSettings,
} from '../target.ts';

/**
 * Comments on issues and pull requests (every pull request is an issue), by GitHub's REST API. The API has no idempotency, so
 * each comment begins with a hidden marker, and a resend first looks for it.
 */

/** "Body is too long (maximum is 65536 characters)". */
const MAX_CHARACTERS = 65_536;
/** One look-up reads the comments since the answer was recorded. An issue with more in that time is a flood. */
const LOOK_UP_PAGES = 5;
const LOOK_UP_PAGE_SIZE = 100;
const MAX_LOOK_UP_BYTES = 8 * 1024 * 1024;
/** How much our database's clock and GitHub's may differ. */
const CLOCK_SLACK_MS = 10 * 60_000;
/** "If you receive a rate limit error ... wait for at least one minute". */
const SECONDARY_LIMIT_SECONDS = 60;
/** A repository that was renamed or moved answers with its new URL. */
const MAX_REDIRECTS = 2;

export function githubCommentTarget(): Target {
  const pool = connections();
  return {
    name: 'github_comment',
    idempotent: false,
    showsClosed: true,
    // "Wait at least one second between each request" that creates something; GitHub's own cap is 80 a minute.
    limits: { overall: { sends: 1, seconds: 1 } },

    destination(address, settings) {
      return {
        name: `github_comment ${apiOrigin(settings)}`,
        chat: `${address.to.repo}#${numberOf(address)}`,
      };
    },

    compose({ text }) {
      const limit = MAX_CHARACTERS - markerOf('').length - DUPLICATE_MARK.length - 8;
      return chunksWithoutMentions(text, limit).map((chunk) => ({ text: chunk }));
    },

    async send(request) {
      const called = await write(pool, 'POST', newCommentPath(request.address), request);
      if (called.kind !== 'answered') return called;
      if (isTaken(called)) return taken(called);
      return refusal(called, apiOrigin(request.settings));
    },

    async edit(request, receipt): Promise<EditResult> {
      const id = /(\d+)$/.exec(receipt)?.[1];
      if (id === undefined) return { kind: 'gone', reason: 'the receipt names no comment' };
      const kind = isReviewComment(receipt) ? 'pulls' : 'issues';
      const path = `/repos/${request.address.to.repo}/${kind}/comments/${id}`;
      const called = await write(pool, 'PATCH', path, request);
      if (called.kind !== 'answered') return called;
      if (isTaken(called)) return taken(called);
      const refused = refusal(called, apiOrigin(request.settings));
      return refused.kind === 'permanent' ? { kind: 'gone', reason: refused.reason } : refused;
    },

    placeOf(receipt, address) {
      // GitHub spells the names in its URLs as in its events, also if the config writes them in another case.
      const [, repo = String(address.to.repo), number = numberOf(address)] =
        /\/([^/\s]+\/[^/\s]+)\/(?:issues|pull)\/(\d+)#/.exec(receipt) ?? [];
      const message = /(?:issuecomment-|discussion_r)\d+$/.exec(receipt)?.[0];
      if (message === undefined) return null;
      const { review_comment_id: root } = address.to;
      return {
        platform: 'github_comment',
        chat: `${repo}#${number}`,
        thread: root === undefined ? CONVERSATION : `review-${String(root)}`,
        message,
      };
    },

    lookUp: (request) => lookUp(pool, request),
    close: () => pool.destroy(),
  };
}

/** As services/ingress spells it: an issue has no threads, so all of its comments are one. */
const CONVERSATION = 'comments';

/** In a review thread everything replies to its first comment. */
function newCommentPath(address: TargetAddress): string {
  const { repo, review_comment_id: root } = address.to;
  const number = numberOf(address);
  return root === undefined
    ? `/repos/${repo}/issues/${number}/comments`
    : `/repos/${repo}/pulls/${number}/comments/${root}/replies`;
}

function isReviewComment(receipt: string): boolean {
  return /discussion_r\d+$/.test(receipt);
}

function numberOf(address: TargetAddress): string {
  return String(address.to.pr_number ?? address.to.issue_number);
}

/**
 * Hidden in the comment. It is a hash because the key begins with the session's id: otherwise somebody who read one marker
 * could write the next one, and a look-up would find it.
 */
function markerOf(key: string): string {
  return `<!-- angelia:${createHash('sha256').update(key).digest('hex').slice(0, 32)} -->\n\n`;
}

function write(
  pool: Agent,
  method: 'POST' | 'PATCH',
  path: string,
  { chunk, markDuplicate, idempotencyKey, settings, window }: SendRequest,
): Promise<CallResult> {
  const mark = markDuplicate ? `${DUPLICATE_MARK.trim()}\n\n` : '';
  return call(
    pool,
    {
      method,
      url: urlOf(settings, path),
      headers: { ...headersOf(settings), 'content-type': 'application/json' },
      body: JSON.stringify({ body: `${markerOf(idempotencyKey)}${mark}${chunk.text}` }),
    },
    window,
  );
}

function urlOf(settings: TargetSettings, path: string): URL {
  return new URL(`${String(settings.api_base).replace(/\/+$/, '')}${path}`);
}

function headersOf(settings: TargetSettings): Record<string, string> {
  return {
    authorization: `Bearer ${settings.token}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
    'user-agent': 'angelia',
  };
}

/** Follows a renamed repository, on the same host only: the token is for no other host. */
async function call(
  pool: Agent,
  request: HttpCall,
  window: SendRequest['window'],
  maxBytes?: number,
): Promise<CallResult> {
  let url = request.url;
  for (let redirects = 0; ; redirects += 1) {
    const called = await callHttp(pool, { ...request, url }, window, {
      readBody: true,
      ...(maxBytes === undefined ? {} : { maxBytes }),
    });
    if (called.kind !== 'answered' || called.status < 300 || called.status >= 400) return called;
    const location = headerOf(called.headers, 'location');
    if (location === undefined || !URL.canParse(location, url.href)) return called;
    const next = new URL(location, url);
    if (next.origin !== url.origin) {
      return {
        kind: 'permanent',
        reason: `http ${called.status} from ${url.origin}: redirects away from it are not followed (${next.origin})`,
      };
    }
    if (redirects === MAX_REDIRECTS) return called;
    url = next;
  }
}

function taken(answer: Answered): SendResult {
  const { html_url: url, id } = objectIn(answer) ?? {};
  return { kind: 'taken', receipt: receiptOf(url, id) };
}

function receiptOf(url: unknown, id: unknown): string | null {
  if (typeof url === 'string' && /(?:issuecomment-|discussion_r)\d+$/.test(url)) return inOneLine(url);
  return typeof id === 'number' ? `issuecomment-${id}` : null;
}

function refusal(answer: Answered, origin: string): Exclude<SendResult, { kind: 'taken' }> {
  const { status, headers } = answer;
  const words = wordsOf(answer);
  const reason = reasonOf(status, origin, words);
  if (status === 403 || status === 429) {
    const seconds = waitOf(answer, words) ?? (status === 429 ? SECONDARY_LIMIT_SECONDS : null);
    if (seconds !== null) return { kind: 'retryable', reason, retryAfterSeconds: seconds, scope: 'target' };
    return { kind: 'permanent', reason };
  }
  if (status === 401)
    return { kind: 'retryable', reason: `${reason} (targets.github_comment.token was refused)` };
  if (isGatewayError(status)) return { kind: 'unknown', reason };
  if (status >= 500 || status === 408) {
    const seconds = retryAfterOf(headers);
    return { kind: 'retryable', reason, ...(seconds === null ? {} : { retryAfterSeconds: seconds }) };
  }
  // 404: not there, or the token may not see it. 410: deleted, or issues are off. 422: the content is refused.
  return { kind: 'permanent', reason };
}

function wordsOf(answer: Answered): string {
  const { message, errors } = objectIn(answer) ?? {};
  const [first] = Array.isArray(errors) ? (errors as { message?: unknown }[]) : [];
  return [message, first?.message].filter((part) => typeof part === 'string').join(': ');
}

/** How long a rate limit lasts. 403 and 429 can also be a refusal; null: it is not a rate limit. */
function waitOf({ headers }: Answered, words: string): number | null {
  const after = retryAfterOf(headers);
  if (after !== null) return after;
  if (headerOf(headers, 'x-ratelimit-remaining') === '0') {
    const reset = Number(headerOf(headers, 'x-ratelimit-reset'));
    if (Number.isFinite(reset)) return Math.max(1, reset - Date.now() / 1000);
  }
  return /rate limit|abuse/i.test(words) ? SECONDARY_LIMIT_SECONDS : null;
}

/** The list has the oldest comments first and can only start at a time. */
async function lookUp(pool: Agent, request: SendRequest): Promise<LookUpResult> {
  const { address, settings, window } = request;
  const marker = markerOf(request.idempotencyKey).trim();
  const since = new Date(request.recordedAt - CLOCK_SLACK_MS).toISOString().replace(/\.\d+Z$/, 'Z');
  for (let page = 1; page <= LOOK_UP_PAGES; page += 1) {
    const kind = address.to.review_comment_id === undefined ? 'issues' : 'pulls';
    const path = `/repos/${address.to.repo}/${kind}/${numberOf(address)}/comments`;
    const url = urlOf(settings, `${path}?since=${since}&per_page=${LOOK_UP_PAGE_SIZE}&page=${page}`);
    const get: HttpCall = { method: 'GET', url, headers: headersOf(settings), safe: true };
    const called = await call(pool, get, window, MAX_LOOK_UP_BYTES);
    if (called.kind !== 'answered') return notLookedUp(called);
    if (!isTaken(called)) return notLookedUp(refusal(called, url.origin));
    const comments = jsonIn(called.body);
    if (!Array.isArray(comments)) {
      return { kind: 'cannot-tell', reason: `${url.origin} gave no list of comments that could be read` };
    }
    for (const { body, html_url, id } of comments as Record<string, unknown>[]) {
      if (typeof body === 'string' && body.includes(marker)) {
        return { kind: 'found', receipt: receiptOf(html_url, id) };
      }
    }
    if (!/rel="next"/.test(headerOf(called.headers, 'link') ?? '')) return { kind: 'absent' };
  }
  return {
    kind: 'cannot-tell',
    reason: `more than ${LOOK_UP_PAGES * LOOK_UP_PAGE_SIZE} comments since then`,
  };
}
