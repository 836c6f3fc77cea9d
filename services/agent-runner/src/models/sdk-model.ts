import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { scrubber } from '@angelia/config';
import type { ModelConfig, ToolCall } from '@angelia/contracts';
import { asModelFailure } from './as-model-failure.ts';
import { limitCallTime } from './call-time-limits.ts';
import { type Model, ModelFailure, type ModelReply, type ModelRequest, type ModelUsage } from './model.ts';
import { detectUnstreamed, type Fetch, UnstreamedAnswer } from './model-fetch.ts';
import { tokensOfMessage, tokensOfRequest } from './rough-tokens.ts';
import { sdkPrompt, sdkTools } from './sdk-prompt.ts';

export type RemoteModelConfig = Exclude<ModelConfig, { provider: 'builtin' }>;

interface SdkModelParts {
  /** Makes the SDK's model, over this fetch. Costly: the SDK builds and compiles its schemas for each model that it makes. */
  readonly languageModel: (fetch: Fetch) => LanguageModelV4;
  readonly fetch: Fetch;
  /** The address of the provider. */
  readonly baseUrl: string;
  /** Adds what this provider needs to the prompt. */
  readonly prepare?: (prompt: LanguageModelV4Message[]) => LanguageModelV4Message[];
}

/**
 * A model of the AI SDK, one call at a time. We call the SDK's provider models (`doStream`) and not its `streamText`,
 * which runs tools and steps, parses the arguments of calls (we keep what the model wrote), and logs and retries.
 */
export function sdkModel(name: string, config: RemoteModelConfig, parts: SdkModelParts): Model {
  const { prepare = (prompt) => prompt } = parts;
  const scrub = scrubber([config.api_key ?? '', ...Object.values(config.headers ?? {})]);
  const sdk = openSdkModels(parts);
  const ask = config.streaming ? askStreaming : askWhole;

  const call = async (request: ModelRequest, signal: AbortSignal): Promise<ModelReply> => {
    signal.throwIfAborted();
    const limits = limitCallTime(name, config, signal);
    try {
      const options: LanguageModelV4CallOptions = {
        prompt: prepare(sdkPrompt(request)),
        abortSignal: limits.signal,
        ...(request.tools.length === 0 ? {} : { tools: sdkTools(request.tools) }),
        ...(config.max_output_tokens === undefined ? {} : { maxOutputTokens: config.max_output_tokens }),
      };
      return checkedReply(name, request, await ask(sdk, options, limits));
    } catch (error) {
      if (limits.signal.aborted) throw limits.signal.reason;
      throw asModelFailure(name, scrub, error);
    } finally {
      limits.stop();
    }
  };
  return {
    name,
    provider: config.provider,
    modelId: config.model,
    contextTokens: config.context_tokens,
    server: serverOf(parts.baseUrl),
    streaming: config.streaming,
    call,
  };
}

interface Reply extends Omit<ModelReply, 'usage'> {
  readonly usage: LanguageModelV4Usage;
  /** False: it ended without a finish reason. */
  readonly complete: boolean;
}

type CallLimits = ReturnType<typeof limitCallTime>;

/** In characters, thoughts included; about a million tokens. Some models, mostly small ones, repeat themselves for ever. */
const LONGEST_ANSWER = 4_000_000;
/** Each call is an event. 8,000 of them held up all other runs for 2 s; no work needs a tenth of that. */
const MOST_CALLS = 512;

/** The SDK's models, made once: one that was made for each call took half of a session's CPU. */
interface SdkModels {
  readonly streaming: LanguageModelV4;
  readonly whole: LanguageModelV4;
  /** Answers that came in one piece although a stream was asked for, by the signal of their call. */
  readonly unstreamed: WeakMap<AbortSignal, Response>;
}

function openSdkModels({ languageModel, fetch }: SdkModelParts): SdkModels {
  const unstreamed = new WeakMap<AbortSignal, Response>();
  return {
    streaming: languageModel(detectUnstreamed(fetch)),
    whole: languageModel(async (url, init) => {
      const answer = init?.signal ? unstreamed.get(init.signal) : undefined;
      return answer ?? fetch(url, init);
    }),
    unstreamed,
  };
}

async function askStreaming(
  sdk: SdkModels,
  options: LanguageModelV4CallOptions,
  limits: CallLimits,
): Promise<Reply | null> {
  try {
    return await readStream(sdk.streaming, options, limits);
  } catch (error) {
    if (!(error instanceof UnstreamedAnswer)) throw error;
    if (options.abortSignal !== undefined) sdk.unstreamed.set(options.abortSignal, error.response);
    return askWhole(sdk, options, limits);
  }
}

async function readStream(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  limits: CallLimits,
): Promise<Reply | null> {
  const { stream } = await model.doStream(options);
  let text = '';
  const toolCalls: ToolCall[] = [];
  let response: ModelReply['response'] = {};
  let length = 0;
  for await (const part of stream) {
    limits.tokenReceived();
    if ('delta' in part) length += part.delta.length;
    if (length > LONGEST_ANSWER) throw new Error(`an answer of more than ${LONGEST_ANSWER} characters`);
    switch (part.type) {
      case 'text-delta':
        text += part.delta;
        break;
      case 'tool-call':
        toolCalls.push(toolCall(part));
        break;
      case 'response-metadata':
        response = { id: part.id, model: part.modelId };
        break;
      case 'error':
        throw part.error;
      case 'finish':
        return {
          text,
          toolCalls,
          finishReason: part.finishReason.unified,
          complete: part.finishReason.raw !== undefined,
          usage: part.usage,
          response,
        };
      default:
        // Thoughts and pieces of arguments only show that the call is alive.
        break;
    }
  }
  return null;
}

async function askWhole(
  { whole }: SdkModels,
  options: LanguageModelV4CallOptions,
  limits: CallLimits,
): Promise<Reply> {
  limits.withoutTokens();
  const { content, finishReason, usage, response } = await whole.doGenerate(options);
  return {
    text: content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    toolCalls: content.flatMap((part) => (part.type === 'tool-call' ? [toolCall(part)] : [])),
    finishReason: finishReason.unified,
    // Half a document cannot be parsed, so this one is whole even if it gives no finish reason.
    complete: true,
    usage,
    response: { id: response?.id, model: response?.modelId },
  };
}

/** Refuses an answer that was cut off, and an empty one that is not the model's choice. */
function checkedReply(name: string, request: ModelRequest, reply: Reply | null): ModelReply {
  if (reply === null || !reply.complete) {
    throw new ModelFailure('cut_off', `model ${name}: the answer stopped before its end`, {
      retryable: true,
    });
  }
  if (reply.toolCalls.length > MOST_CALLS) {
    const asked = `it asks for ${reply.toolCalls.length} calls at once`;
    throw new ModelFailure('protocol', `model ${name}: ${asked}`, { retryable: true });
  }
  const { complete: _, usage, ...said } = reply;
  const isCounted = usage.inputTokens.total !== undefined && usage.outputTokens.total !== undefined;
  const answer = {
    ...said,
    usage: usageOf(usage, request, said),
    ...(isCounted ? {} : { usageIsEstimate: true }),
  };
  const empty = answer.text.trim() === '' && answer.toolCalls.length === 0;
  if (empty && (answer.finishReason === 'length' || answer.finishReason === 'content-filter')) {
    const why = answer.finishReason === 'length' ? 'it had no tokens left for' : 'the provider withheld';
    throw new ModelFailure('refused', `model ${name}: ${why} the answer`, { retryable: false });
  }
  return answer;
}

function toolCall(part: { toolCallId: string; toolName: string; input: string }): ToolCall {
  // For a call without arguments most models write no text.
  return {
    id: part.toolCallId,
    name: part.toolName,
    arguments: part.input.trim() === '' ? '{}' : part.input,
  };
}

/** Not every server counts tokens. Then our own estimate enforces the agent's budget. */
function usageOf(
  { inputTokens, outputTokens }: LanguageModelV4Usage,
  request: ModelRequest,
  { text, toolCalls }: Pick<ModelReply, 'text' | 'toolCalls'>,
): ModelUsage {
  return {
    input_tokens: inputTokens.total ?? tokensOfRequest(request),
    output_tokens: outputTokens.total ?? tokensOfMessage({ role: 'assistant', content: text, toolCalls }),
  };
}

function serverOf(baseUrl: string): Model['server'] {
  const { hostname, port, protocol } = new URL(baseUrl);
  return { address: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}
