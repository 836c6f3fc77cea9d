import { isRetryableStatus, retryAfterMs } from '../retry-call.ts';
import { BrokenExchange } from './call-errors.ts';
import { ModelFailure, type ModelFailureCode } from './model.ts';

/** A provider's error message goes into logs and events: enough of it to act on, but no page of HTML. */
const LONGEST_MESSAGE = 500;

/** What the SDK or our own client throws: the SDK's APICallError, our RefusedCall, or the raw `error` object of the provider. */
interface CallError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly statusCode?: unknown;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly responseBody?: unknown;
  readonly cause?: unknown;
  /** From the `error` object: `context_length_exceeded`, or an HTTP status, as some gateways write it. */
  readonly code?: unknown;
  readonly type?: unknown;
}

/**
 * Turns an error of a model call into ours: whether a retry can help, and a message without secrets.
 *
 * @param scrub removes the key and headers from a text: providers like to quote the key in their messages
 */
export function asModelFailure(model: string, scrub: (text: string) => string, error: unknown): ModelFailure {
  if (error instanceof ModelFailure) return error;
  const thrown: CallError = typeof error === 'object' && error !== null ? error : { message: String(error) };
  const said = messageOf(thrown);
  const status = statusOf(thrown);
  const text = `model ${model}: ${short(scrub(said))}${status === null ? '' : ` (HTTP ${status})`}`;
  const fail = (code: ModelFailureCode, retryable: boolean, retryAfterMs: number | null = null) =>
    new ModelFailure(code, text, { retryable, retryAfterMs, status });

  if (status === null) {
    if (isTooLong(thrown, said)) return fail('too_long', false);
    if (error instanceof BrokenExchange) return fail(error.code, true);
    if (thrown.name === 'AI_APICallError') return fail('connect', true);
    // The SDK's error for a stream that ended without a finish reason.
    if (thrown.name === 'AI_InvalidResponseDataError') return fail('cut_off', true);
    if (error instanceof Error) return fail('protocol', true);
    return isNamed(thrown, REFUSALS) ? fail(refusalCode(null, thrown), false) : fail('unavailable', true);
  }
  // Before the rest: llama.cpp says it with the status of a broken server. A 429 counts tokens per minute, not of a request.
  if (status === 413 || (status >= 400 && status !== 429 && isTooLong(thrown, said)))
    return fail('too_long', false);
  // The account has no money left: the status of a busy model, but the operator's to mend.
  if (status === 429 && hasWord(thrown, /insufficient_quota/)) return fail('unauthorized', false);
  if (isRetryableStatus(status)) {
    return fail('unavailable', true, retryAfterMs(thrown.responseHeaders?.['retry-after']));
  }
  if (status < 300)
    return thrown.cause instanceof SyntaxError ? fail('protocol', true) : fail('cut_off', true);
  return fail(refusalCode(status, thrown), false);
}

/** The messages of these two SDK errors quote the answer itself, which must not go into a log. */
const QUOTES_THE_ANSWER: readonly unknown[] = ['AI_TypeValidationError', 'AI_JSONParseError'];

function messageOf(error: CallError): string {
  if (QUOTES_THE_ANSWER.includes(error.name)) return 'an answer that is not the protocol';
  return typeof error.message === 'string' ? error.message : JSON.stringify(error);
}

function statusOf({ statusCode, code }: CallError): number | null {
  if (typeof statusCode === 'number') return statusCode;
  return typeof code === 'number' && code >= 400 && code < 600 ? code : null;
}

/** In the middle of a stream there is no status, only the provider's name of the error. */
function isNamed({ type, code }: CallError, name: RegExp): boolean {
  return [type, code].some((word) => typeof word === 'string' && name.test(word));
}

const REFUSALS = /invalid_request|authentication|permission|not_found|content/;

/** Some providers answer 400 for a model that they do not have (DeepSeek, Mistral, OpenRouter). */
const NO_SUCH_MODEL =
  /model_not_found|model not exist|(unknown|invalid|no such) model(:| id| name|$)|not a valid model|model [^ ]{1,100} (does not exist|not found)/i;

function refusalCode(status: number | null, error: CallError): 'unauthorized' | 'unknown_model' | 'refused' {
  if (status === 401 || status === 402 || status === 403) return 'unauthorized';
  // Also a wrong base_url: a page that does not exist, has moved, or takes no POST.
  if (status === 404 || status === 405 || (status !== null && status < 400)) return 'unknown_model';
  if (hasWord(error, NO_SUCH_MODEL)) return 'unknown_model';
  if (status !== null) return 'refused';
  if (isNamed(error, /authentication|permission/)) return 'unauthorized';
  return isNamed(error, /not_found/) ? 'unknown_model' : 'refused';
}

function hasWord({ message, code, type, responseBody }: CallError, word: RegExp): boolean {
  return [message, code, type, responseBody].some((text) => typeof text === 'string' && word.test(text));
}

/** This error has no status of its own, and every provider has its own words for it. */
const TOO_LONG = new RegExp(
  [
    // OpenAI, vLLM, OpenRouter, Mistral and most compatible servers
    'context_length_exceeded|maximum context length|context window',
    // Anthropic
    'prompt is too long|exceed context limit|request_too_large',
    // llama.cpp, as a refusal and in the middle of a stream; LM Studio
    'exceeds? the (available|maximum) context|exceed_context_size|context size has been exceeded|context the overflows',
    // Ollama; Google; xAI; Bedrock; Moonshot; Z.ai; TGI
    'exceeds the context length|token count .{0,20}exceeds the maximum|maximum prompt length|input is too long',
    'exceeded model token limit|prompt exceeds max length|`inputs` tokens \\+ `max_new_tokens` must be',
  ].join('|'),
  'i',
);

function isTooLong(error: CallError, message: string): boolean {
  return TOO_LONG.test(message) || hasWord(error, TOO_LONG);
}

function short(text: string): string {
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE).toWellFormed()}…` : text;
}
