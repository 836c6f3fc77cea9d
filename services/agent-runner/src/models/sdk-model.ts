import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import type { ModelConfig, ToolCall } from '@angelia/contracts';
import { asModelFailure } from './call-failure.ts';
import { watchCall } from './call-watch.ts';
import { type Model, ModelFailure, type ModelReply, type ModelRequest, type ModelUsage } from './model.ts';
import { sdkPrompt, sdkTools } from './sdk-prompt.ts';

export type RemoteModelConfig = Exclude<ModelConfig, { provider: 'builtin' }>;

export interface SdkModelParts {
  readonly languageModel: LanguageModelV4;
  /** Where the provider is, when the config does not say otherwise. */
  readonly baseUrl: string;
  /** What the provider wants to be told beside the protocol. */
  readonly prepare?: (prompt: LanguageModelV4Message[]) => LanguageModelV4Message[];
}

/**
 * A model of the AI SDK, one call at a time. We speak to the SDK's provider models (`doStream`) and not through its
 * `streamText`: that one runs tools and steps, parses the arguments of calls (we keep what the model wrote), and logs
 * and retries on its own.
 */
export function sdkModel(name: string, config: RemoteModelConfig, parts: SdkModelParts): Model {
  const { languageModel, prepare = (prompt) => prompt } = parts;
  const secrets = [config.api_key ?? '', ...Object.values(config.headers ?? {})];
  const ask = config.streaming ? askStreaming : askWhole;

  const call = async (request: ModelRequest, signal: AbortSignal): Promise<ModelReply> => {
    signal.throwIfAborted();
    const watch = watchCall(name, config, signal);
    try {
      const options: LanguageModelV4CallOptions = {
        prompt: prepare(sdkPrompt(request)),
        abortSignal: watch.signal,
        ...(request.tools.length === 0 ? {} : { tools: sdkTools(request.tools) }),
        ...(config.max_output_tokens === undefined ? {} : { maxOutputTokens: config.max_output_tokens }),
      };
      return answered(name, await ask(languageModel, options, watch));
    } catch (error) {
      if (watch.signal.aborted) throw watch.signal.reason;
      throw asModelFailure(name, secrets, error);
    } finally {
      watch.stop();
    }
  };
  return {
    name,
    provider: config.provider,
    modelId: config.model,
    contextTokens: config.context_tokens,
    server: serverOf(parts.baseUrl),
    call,
  };
}

interface Reply extends ModelReply {
  /** False: it ended, and nothing says why. */
  readonly complete: boolean;
}

type Watch = ReturnType<typeof watchCall>;

async function askStreaming(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  watch: Watch,
): Promise<Reply | null> {
  const { stream } = await model.doStream(options);
  let text = '';
  const toolCalls: ToolCall[] = [];
  let response: ModelReply['response'] = {};
  for await (const part of stream) {
    watch.signOfLife();
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
          usage: usageOf(part.usage),
          response,
        };
      default:
        // Thoughts and pieces of arguments: signs of life.
        break;
    }
  }
  return null;
}

async function askWhole(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  watch: Watch,
): Promise<Reply> {
  watch.withoutTokens();
  const { content, finishReason, usage, response } = await model.doGenerate(options);
  return {
    text: content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    toolCalls: content.flatMap((part) => (part.type === 'tool-call' ? [toolCall(part)] : [])),
    finishReason: finishReason.unified,
    complete: finishReason.raw !== undefined,
    usage: usageOf(usage),
    response: { id: response?.id, model: response?.modelId },
  };
}

/** A part of an answer is not passed off as the answer, and nothing at all not as silence. */
function answered(name: string, reply: Reply | null): ModelReply {
  if (reply === null || !reply.complete) {
    throw new ModelFailure('cut_off', `model ${name}: the answer stopped before its end`, {
      retryable: true,
    });
  }
  const { complete: _, ...answer } = reply;
  const empty = answer.text.trim() === '' && answer.toolCalls.length === 0;
  if (empty && (answer.finishReason === 'length' || answer.finishReason === 'content-filter')) {
    const why = answer.finishReason === 'length' ? 'it had no tokens left for' : 'the provider withheld';
    throw new ModelFailure('refused', `model ${name}: ${why} the answer`, { retryable: false });
  }
  return answer;
}

function toolCall(part: { toolCallId: string; toolName: string; input: string }): ToolCall {
  // A call without arguments has none to write: for most models that is no text at all.
  return {
    id: part.toolCallId,
    name: part.toolName,
    arguments: part.input.trim() === '' ? '{}' : part.input,
  };
}

function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): ModelUsage {
  return { input_tokens: inputTokens.total ?? 0, output_tokens: outputTokens.total ?? 0 };
}

function serverOf(baseUrl: string): Model['server'] {
  const { hostname, port, protocol } = new URL(baseUrl);
  return { address: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}
