import { createHmac, randomUUID } from 'node:crypto';

export interface SignedPost {
  /** URL of ingress, e.g. `http://127.0.0.1:8644`. */
  readonly baseUrl: string;
  readonly route: string;
  readonly secret: string;
  /** An object is sent as JSON, a string unchanged. */
  readonly body: unknown;
  /** How it is signed. */
  readonly scheme?: 'github' | 'generic-v2';
  /** Default: a new id. */
  readonly deliveryId?: string;
  readonly event?: string;
  /** Seconds since the epoch, for tests of stale timestamps. */
  readonly timestamp?: number;
  /** Overrides the signature headers, for tests of broken headers. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface PostAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
  /** '' if the answer has none. */
  readonly sessionId: string;
}

/** Posts a webhook as a provider would, with a signature of exactly the sent bytes. */
export async function signedPost(post: SignedPost): Promise<PostAnswer> {
  const body = typeof post.body === 'string' ? post.body : JSON.stringify(post.body);
  const response = await fetch(new URL(`/webhooks/${post.route}`, post.baseUrl), {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...signatureHeaders(post, body), ...post.headers },
    signal: post.signal ?? null,
  });
  const answer = (await response.json()) as Record<string, unknown>;
  return {
    status: response.status,
    headers: response.headers,
    body: answer,
    sessionId: typeof answer.session_id === 'string' ? answer.session_id : '',
  };
}

/** Only the headers, for load generators with their own HTTP client. */
export function signatureHeaders(
  post: Pick<SignedPost, 'secret' | 'scheme' | 'deliveryId' | 'event' | 'timestamp'>,
  body: string,
): Record<string, string> {
  const deliveryId = post.deliveryId ?? randomUUID();
  if (post.scheme === 'generic-v2') {
    const timestamp = String(post.timestamp ?? Math.floor(Date.now() / 1000));
    return {
      'x-webhook-timestamp': timestamp,
      'x-webhook-signature-v2': hmac(post.secret, `${timestamp}.${body}`),
      'x-request-id': deliveryId,
    };
  }
  return {
    'x-hub-signature-256': `sha256=${hmac(post.secret, body)}`,
    'x-github-event': post.event ?? 'push',
    'x-github-delivery': deliveryId,
  };
}

function hmac(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}
