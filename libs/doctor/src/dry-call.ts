import { reasonOf } from './finding.ts';

/** A request that changes nothing and sends no message to anybody. */
export interface DryCall {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type DryAnswer =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: Headers;
      readonly body: unknown;
    }
  | { readonly kind: 'unreachable'; readonly reason: string };

/** No answer to these calls is longer; lists of models are the longest. A longer one is not read. */
const MOST_ANSWER_BYTES = 4 * 1024 * 1024;

/** Does not follow redirects: the credential is for this host only. */
export async function dryCall(call: DryCall, timeoutMs: number): Promise<DryAnswer> {
  try {
    const response = await fetch(call.url, {
      method: call.method,
      headers: call.headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { status, headers } = response;
    return { kind: 'answered', status, headers, body: parsed(await textOf(response)) };
  } catch (error) {
    return { kind: 'unreachable', reason: reasonOf(error) };
  }
}

async function textOf(response: Response): Promise<string> {
  // An event stream never ends. Its status is enough.
  if (response.body === null || !/json/.test(response.headers.get('content-type') ?? '')) {
    await response.body?.cancel();
    return '';
  }
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MOST_ANSWER_BYTES) return '';
  }
  return text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // not JSON: the status is enough
  }
}

/** `at(body, 'result', 'username')`, or undefined. */
export function at(body: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined,
    body,
  );
}
