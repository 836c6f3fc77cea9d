import type { ModelConfig } from '@angelia/contracts';
import type * as undici from 'undici';
import { type Model, ModelFailure, type ModelReply, type ModelRequest } from './model.ts';

type OpenAICompatibleConfig = Extract<ModelConfig, { provider: 'openai-compatible' }>;

/** The SDK takes 30 MB and 120 ms to load: only services that call such a model pay for it, once, at start. */
export async function openAICompatibleModel(name: string, config: OpenAICompatibleConfig): Promise<Model> {
  const [{ createOpenAICompatible }, { streamText }, fetch] = await Promise.all([
    import('@ai-sdk/openai-compatible'),
    import('ai'),
    patientFetch(),
  ]);
  const provider = createOpenAICompatible({
    name,
    baseURL: config.base_url,
    includeUsage: true,
    fetch,
    ...(config.api_key === undefined ? {} : { apiKey: config.api_key }),
    ...(config.headers === undefined ? {} : { headers: config.headers }),
  });
  const languageModel = provider.chatModel(config.model);

  const call = async (request: ModelRequest, signal: AbortSignal): Promise<ModelReply> => {
    const watch = watchCall(config, signal);
    try {
      const { stream } = streamText({
        model: languageModel,
        system: request.system,
        messages: request.messages.map(({ role, content }) => ({ role, content })),
        abortSignal: watch.signal,
        // Retrying is ours: it has to end before the fallback model's turn comes.
        maxRetries: 0,
        // Errors reach us as parts of the stream; the default would print them, prompt and all.
        onError: () => {},
      });
      let text = '';
      for await (const part of stream) {
        watch.signOfLife();
        if (part.type === 'text-delta') text += part.text;
        else if (part.type === 'error') throw part.error;
        else if (part.type === 'abort') throw watch.signal.reason;
        else if (part.type === 'finish') {
          if (part.rawFinishReason === undefined) throw cutOff(name);
          return {
            text,
            finishReason: part.finishReason,
            usage: {
              input_tokens: part.totalUsage.inputTokens ?? 0,
              output_tokens: part.totalUsage.outputTokens ?? 0,
            },
          };
        }
      }
      throw cutOff(name);
    } catch (error) {
      if (watch.signal.aborted) throw watch.signal.reason;
      throw asModelFailure(name, config.api_key, error);
    } finally {
      watch.stop();
    }
  };
  return { name, provider: config.provider, modelId: config.model, call };
}

/**
 * Node's own fetch gives up after 300 s without headers or without a byte of the body. How long a model may take is the
 * config's to say (`timeout_seconds`, `stall_seconds`), and watchCall's to keep.
 */
async function patientFetch(): Promise<typeof globalThis.fetch> {
  const undici = await import('undici');
  const dispatcher = new undici.Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const fetch = (url: string, init?: undici.RequestInit) => undici.fetch(url, { ...init, dispatcher });
  // The same standard twice: undici's own types of it, and those of Node.
  return fetch as unknown as typeof globalThis.fetch;
}

/** Ends a call that stalls or takes too long. The caller's own signal counts as well, with its own reason. */
function watchCall(
  config: Pick<OpenAICompatibleConfig, 'stall_seconds' | 'timeout_seconds'>,
  outer: AbortSignal,
) {
  const own = new AbortController();
  const give = (code: 'stall' | 'timeout', seconds: number, what: string) => () =>
    own.abort(new ModelFailure(code, `${what} for ${seconds} s`, { retryable: true }));
  const stalled = give('stall', config.stall_seconds, 'no token');
  let stall = setTimeout(stalled, config.stall_seconds * 1000);
  const whole = setTimeout(
    give('timeout', config.timeout_seconds, 'no complete answer'),
    config.timeout_seconds * 1000,
  );
  return {
    signal: AbortSignal.any([outer, own.signal]),
    signOfLife() {
      clearTimeout(stall);
      stall = setTimeout(stalled, config.stall_seconds * 1000);
    },
    stop() {
      clearTimeout(stall);
      clearTimeout(whole);
      // A consumer that left early (an error part) must not leave the request open.
      own.abort();
    },
  };
}

function cutOff(name: string): ModelFailure {
  return new ModelFailure('cut_off', `model ${name}: the answer stopped before its end`, { retryable: true });
}

/** What the SDK throws, as far as we look at it (APICallError). */
interface CallError {
  readonly message: string;
  readonly statusCode?: number;
  readonly responseHeaders?: Readonly<Record<string, string>>;
}

function asModelFailure(name: string, apiKey: string | undefined, error: unknown): ModelFailure {
  if (error instanceof ModelFailure) return error;
  const { message, statusCode: status, responseHeaders } = asCallError(error);
  const text = `model ${name}: ${withoutKey(message, apiKey)}`;
  if (status === undefined) {
    const connect = error instanceof Error && error.name === 'AI_APICallError';
    return new ModelFailure(connect ? 'connect' : 'protocol', text, { retryable: true });
  }
  if (status < 400) return new ModelFailure('cut_off', text, { retryable: true });
  const withStatus = `${text} (HTTP ${status})`;
  if (!isRetryableStatus(status)) return new ModelFailure('refused', withStatus, { retryable: false });
  const retryAfterMs = retryAfter(responseHeaders?.['retry-after']);
  return new ModelFailure('unavailable', withStatus, { retryable: true, retryAfterMs });
}

function asCallError(error: unknown): CallError {
  return error instanceof Error ? error : { message: String(error) };
}

export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500;
}

/** Seconds or an HTTP date; null when it is neither. */
export function retryAfter(header: string | undefined, now = Date.now()): number | null {
  if (header === undefined) return null;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

/** Providers like to quote the key in their error text; our events and logs must not hold it. */
function withoutKey(message: string, apiKey: string | undefined): string {
  return apiKey ? message.replaceAll(apiKey, '[redacted]') : message;
}
