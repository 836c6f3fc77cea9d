import { isRetryableStatus, retryAfterMs } from '../retry-call.ts';
import { ModelFailure, type ModelFailureCode } from './model.ts';

/** What a provider says about an error ends in logs and events: enough of it to act on, and no page of HTML. */
const LONGEST_MESSAGE = 500;

/** What the SDK throws or sends as an error part: its APICallError, or the `error` object of the provider as it came. */
interface CallError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly statusCode?: unknown;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly responseBody?: unknown;
  readonly cause?: unknown;
  /** Of the `error` object: `context_length_exceeded`, or an HTTP status as some gateways write it. */
  readonly code?: unknown;
  readonly type?: unknown;
}

/**
 * An error of a model call as ours: whether a retry can help, and a message without secrets.
 *
 * @param scrub takes key and headers out of a text: providers like to quote the key in what they say
 */
export function asModelFailure(model: string, scrub: (text: string) => string, error: unknown): ModelFailure {
  if (error instanceof ModelFailure) return error;
  const thrown: CallError = typeof error === 'object' && error !== null ? error : { message: String(error) };
  const said = wordsOf(thrown);
  const status = statusOf(thrown);
  const text = `model ${model}: ${short(scrub(said))}${status === null ? '' : ` (HTTP ${status})`}`;
  const fail = (code: ModelFailureCode, retryable: boolean, retryAfterMs: number | null = null) =>
    new ModelFailure(code, text, { retryable, retryAfterMs });

  if (status === null) {
    if (isTooLong(thrown, said)) return fail('too_long', false);
    if (thrown.name === 'AI_APICallError') return fail('connect', true);
    // The SDK's own word for a stream that ended without a reason to finish.
    if (thrown.name === 'AI_InvalidResponseDataError') return fail('cut_off', true);
    if (error instanceof Error) return fail('protocol', true);
    return isRefusal(thrown) ? fail('refused', false) : fail('unavailable', true);
  }
  if (isRetryableStatus(status)) {
    return fail('unavailable', true, retryAfterMs(thrown.responseHeaders?.['retry-after']));
  }
  if (status < 300)
    return thrown.cause instanceof SyntaxError ? fail('protocol', true) : fail('cut_off', true);
  return fail(isTooLong(thrown, said) ? 'too_long' : 'refused', false);
}

/** Of these two the SDK's own message is the answer itself, or what it was made of: not for a log. */
const QUOTES_THE_ANSWER: readonly unknown[] = ['AI_TypeValidationError', 'AI_JSONParseError'];

function wordsOf(error: CallError): string {
  if (QUOTES_THE_ANSWER.includes(error.name)) return 'an answer that is not the protocol';
  return typeof error.message === 'string' ? error.message : JSON.stringify(error);
}

function statusOf({ statusCode, code }: CallError): number | null {
  if (typeof statusCode === 'number') return statusCode;
  return typeof code === 'number' && code >= 400 && code < 600 ? code : null;
}

/** In the middle of a stream there is no status, only what the provider calls it. */
function isRefusal({ type, code }: CallError): boolean {
  return [type, code].some(
    (word) =>
      typeof word === 'string' && /invalid_request|authentication|permission|not_found|content/.test(word),
  );
}

/** OpenAI and most compatible servers; Anthropic; llama.cpp. There is no status of its own for it. */
const TOO_LONG =
  /context_length_exceeded|maximum context length|context window|prompt is too long|exceeds? the (available|maximum) context|exceed_context_size/i;

function isTooLong({ code, type, responseBody }: CallError, message: string): boolean {
  const words = [message, code, type, responseBody].filter((word) => typeof word === 'string');
  return words.some((word) => TOO_LONG.test(word));
}

function short(text: string): string {
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE).toWellFormed()}…` : text;
}
