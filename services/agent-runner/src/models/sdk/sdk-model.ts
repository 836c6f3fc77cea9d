import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { scrubber } from '@angelia/config';
import type { ToolCall } from '@angelia/contracts';
import { asModelFailure } from '../as-model-failure.ts';
import { type CallTimer, limitCallTime } from '../call-time-limits.ts';
import { assertNotEndless, checkedReply, type ReadReply, writtenArguments } from '../checked-reply.ts';
import { ownRequest, reasoningOwner } from '../kept-reasoning.ts';
import type { Model, ModelReply, ModelRequest } from '../model.ts';
import { type RemoteModelConfig, remoteModel } from '../remote-model.ts';
import { withoutThoughts } from '../thoughts-in-text.ts';
import { detectUnstreamed, type Fetch, noticeDone, UnstreamedAnswer } from './model-fetch.ts';
import { sdkPrompt, sdkTools } from './sdk-prompt.ts';
import { effortOf, KeptParts, keptContent } from './sdk-reasoning.ts';

interface SdkModelParts {
  /** Makes the SDK's model, over this fetch. Costly: the SDK builds and compiles its schemas for each model that it makes. */
  readonly languageModel: (fetch: Fetch) => LanguageModelV4;
  readonly fetch: Fetch;
  /** The address of the provider. */
  readonly baseUrl: string;
  /** Adds what this provider needs to the prompt. */
  readonly prepare?: (prompt: LanguageModelV4Message[]) => LanguageModelV4Message[];
  /** Results may hold images. Otherwise a message of the user after the results does. */
  readonly imagesInResults: boolean;
  /** How much to think about this request. */
  readonly reasoning?: (
    request: ModelRequest,
  ) => Pick<LanguageModelV4CallOptions, 'reasoning' | 'providerOptions'>;
}

/**
 * A model of the AI SDK, one call at a time. We call the SDK's provider models (`doStream`) and not its `streamText`,
 * which runs tools and steps, parses the arguments of calls (we keep what the model wrote), and logs and retries.
 */
export function sdkModel(name: string, config: RemoteModelConfig, parts: SdkModelParts): Model {
  const { prepare = (prompt) => prompt } = parts;
  const scrub = scrubber([config.api_key ?? '', ...Object.values(config.headers ?? {})]);
  const sdk = openSdkModels(parts);
  const owner = reasoningOwner(config);
  const reasoning = parts.reasoning ?? (() => effortOf(config));
  const ask = config.streaming ? askStreaming : askWhole;

  const call = async (asked: ModelRequest, signal: AbortSignal): Promise<ModelReply> => {
    signal.throwIfAborted();
    const request = ownRequest(asked, config);
    const own = new AbortController();
    const timer = limitCallTime(name, config, signal, (reason) => own.abort(reason));
    try {
      const options: LanguageModelV4CallOptions = {
        prompt: prepare(sdkPrompt(request, parts.imagesInResults)),
        abortSignal: own.signal,
        ...reasoning(request),
        ...(request.tools.length === 0 ? {} : { tools: sdkTools(request.tools) }),
        ...(config.max_output_tokens === undefined ? {} : { maxOutputTokens: config.max_output_tokens }),
      };
      return checkedReply(name, owner, request, await ask(sdk, options, timer));
    } catch (error) {
      if (own.signal.aborted) throw own.signal.reason;
      // An error part may leave the request open.
      own.abort(error);
      throw asModelFailure(name, scrub, error);
    } finally {
      timer.stop();
    }
  };
  return remoteModel(name, config, parts.baseUrl, call);
}

/** The SDK's models, made once: one that was made for each call took half of a session's CPU. */
interface SdkModels {
  readonly streaming: LanguageModelV4;
  readonly whole: LanguageModelV4;
  /** Answers that came in one piece although a stream was asked for, by the signal of their call. */
  readonly unstreamed: WeakMap<AbortSignal, Response>;
  /** The signals of the calls whose stream said `[DONE]`. */
  readonly ended: WeakSet<AbortSignal>;
}

function openSdkModels({ languageModel, fetch }: SdkModelParts): SdkModels {
  const unstreamed = new WeakMap<AbortSignal, Response>();
  const ended = new WeakSet<AbortSignal>();
  return {
    streaming: languageModel(detectUnstreamed(noticeDone(fetch, ended))),
    whole: languageModel(async (url, init) => {
      const answer = init?.signal ? unstreamed.get(init.signal) : undefined;
      return answer ?? fetch(url, init);
    }),
    unstreamed,
    ended,
  };
}

async function askStreaming(
  sdk: SdkModels,
  options: LanguageModelV4CallOptions,
  timer: CallTimer,
): Promise<ReadReply | null> {
  try {
    return await readStream(sdk, options, timer);
  } catch (error) {
    if (!(error instanceof UnstreamedAnswer)) throw error;
    if (options.abortSignal !== undefined) sdk.unstreamed.set(options.abortSignal, error.response);
    return askWhole(sdk, options, timer);
  }
}

async function readStream(
  { streaming, ended }: SdkModels,
  options: LanguageModelV4CallOptions,
  timer: CallTimer,
): Promise<ReadReply | null> {
  const { stream } = await streaming.doStream(options);
  let text = '';
  const toolCalls: ToolCall[] = [];
  let response: ModelReply['response'] = {};
  let length = 0;
  const kept = new KeptParts();
  for await (const part of stream) {
    timer.tokenReceived();
    if ('delta' in part) length += part.delta.length;
    assertNotEndless(length);
    kept.add(part);
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
      case 'finish': {
        const { raw, unified } = part.finishReason;
        // As in our own client (chat-answer.ts).
        const saysSomething = toolCalls.length > 0 || withoutThoughts(text) !== '';
        const isDone = options.abortSignal !== undefined && ended.has(options.abortSignal);
        return {
          text,
          toolCalls,
          reasoning: kept.value,
          finishReason: raw === undefined ? 'other' : unified,
          complete: raw !== undefined || (isDone && saysSomething),
          usage: usageOf(part.usage),
          response,
        };
      }
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
  timer: CallTimer,
): Promise<ReadReply> {
  timer.withoutTokens();
  const { content, finishReason, usage, response } = await whole.doGenerate(options);
  return {
    text: content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    toolCalls: content.flatMap((part) => (part.type === 'tool-call' ? [toolCall(part)] : [])),
    reasoning: keptContent(content),
    finishReason: finishReason.unified,
    // Half a document cannot be parsed, so this one is whole even if it gives no finish reason.
    complete: true,
    usage: usageOf(usage),
    response: { id: response?.id, model: response?.modelId },
  };
}

function toolCall(part: { toolCallId: string; toolName: string; input: string }): ToolCall {
  return { id: part.toolCallId, name: part.toolName, arguments: writtenArguments(part.input) };
}

function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): ReadReply['usage'] {
  return { input: inputTokens.total, output: outputTokens.total };
}
