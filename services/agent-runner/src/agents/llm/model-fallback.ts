import { AngeliaError, type LlmAgentConfig, type SessionId } from '@angelia/contracts';
import { type Logger, metrics } from '@angelia/service-kit';
import type { UnusableModel } from '@angelia/session';
import { isTracing, SESSION_ID, withSpan } from '@angelia/sessions';
import { type Span, SpanKind } from '@opentelemetry/api';
import { callWithRetry, type Guard } from '../../models/call-with-retry.ts';
import { replyContent, requestContent } from '../../models/captured-messages.ts';
import { type Model, ModelFailure, type ModelReply, type ModelRequest } from '../../models/model.ts';
import type { Models } from '../../models/provide-models.ts';
import { type ModelCircuits, ModelPaused } from '../../outages/model-circuits.ts';
import { asUnusable } from '../../outages/put-off.ts';

interface FallbackOptions {
  /** Asked for every call: a key may be rotated during the run. */
  readonly models: Pick<Models, 'get'>;
  /** Called right before each call of a model. Returns the run's signal; throws if the run must not go on. */
  readonly assertHeld: () => AbortSignal;
  readonly logger: Logger;
  readonly sessionId: SessionId;
  readonly circuits: ModelCircuits;
  /** Called before the next model is asked, to tell the user. */
  readonly onFallback: (name: string) => Promise<void>;
}

export interface Answer {
  /** The model that gave it, by its name in the config. */
  readonly model: string;
  readonly reply: ModelReply;
}

/** Thrown when the agent's model and all its fallbacks failed. The run is put off if waiting can help; otherwise it fails. */
export class ModelsFailed extends AngeliaError {
  override readonly name = 'ModelsFailed';
  readonly code = 'models_failed';
  readonly retryable = false;
  /** Those that may work later. Empty: each of them refuses this request. */
  readonly models: readonly UnusableModel[];

  constructor(message: string, models: readonly UnusableModel[]) {
    super(message);
    this.models = models;
  }
}

/** Thrown by `ask` when the request does not fit in the model's window. Compress the conversation and ask again. */
export class ConversationTooLong extends AngeliaError {
  override readonly name = 'ConversationTooLong';
  readonly code = 'conversation_too_long';
  readonly retryable = false;
}

/**
 * The models of one run: the agent's, then its `fallback_models` in order. A run that had to fall back stays with that
 * model for its further steps, so that the user is told once and no step tries the failed model again. The next run
 * begins with the agent's model.
 */
export class FallbackModels {
  readonly #names: readonly string[];
  readonly #options: FallbackOptions;
  /** A model that is known to be down is not called. */
  readonly #waits: boolean;
  #at = 0;

  constructor(agent: Pick<LlmAgentConfig, 'model' | 'fallback_models' | 'retry'>, options: FallbackOptions) {
    this.#names = [...(agent.model === undefined ? [] : [agent.model]), ...agent.fallback_models];
    this.#options = options;
    this.#waits = agent.retry.max_seconds > 0;
  }

  /** The model that is asked next. Null: the config no longer has it. */
  get current(): Model | null {
    return this.#options.models.get(this.#names[this.#at] ?? '') ?? null;
  }

  /**
   * @param canShorten the caller can make a shorter request, so a model that finds this one too long is not left
   * @param wantsText an empty answer counts as a failure and is retried
   * @throws ModelsFailed, ConversationTooLong, and the reason of the run's signal
   */
  async ask(
    request: ModelRequest,
    { canShorten, wantsText = false }: { canShorten: boolean; wantsText?: boolean },
  ): Promise<Answer> {
    const { circuits, sessionId } = this.#options;
    const failures: string[] = [];
    const unusable: UnusableModel[] = [];
    for (let at = this.#at; at < this.#names.length; at += 1) {
      const name = this.#names[at] as string;
      const pausedMs = this.#waits ? circuits.pausedMs(name, sessionId) : 0;
      if (pausedMs > 0) {
        const known = circuits.notCalled(name, pausedMs);
        unusable.push(known);
        failures.push(`not called again: ${known.message}`);
        continue;
      }
      if (at > this.#at) {
        metrics.modelFallbacks.add({ model: name });
        await this.#options.onFallback(name);
      }
      this.#at = at;
      const model = this.current;
      if (model === null) {
        failures.push(`model ${name} is not in the config any more`);
        continue;
      }
      try {
        const reply = await this.#call(wantsText ? requireText(model) : model, request);
        return { model: name, reply };
      } catch (error) {
        if (!(error instanceof ModelFailure || error instanceof ModelPaused)) throw error;
        this.#options.assertHeld();
        if (error.code === 'too_long' && canShorten) throw new ConversationTooLong(error.message);
        failures.push(error.message);
        const mayWorkLater = asUnusable(name, sessionId, error, circuits);
        if (mayWorkLater !== null) unusable.push(mayWorkLater);
      }
    }
    throw new ModelsFailed(failures.join('; ') || 'the agent has no model', unusable);
  }

  #call(model: Model, request: ModelRequest): Promise<ModelReply> {
    const { circuits, sessionId } = this.#options;
    if (!this.#waits) return callModel(model, request, this.#options, (call) => call());
    return circuits.call(model.name, sessionId, (guard) => callModel(model, request, this.#options, guard));
  }
}

function requireText(model: Model): Model {
  return {
    ...model,
    async call(request, signal) {
      const reply = await model.call(request, signal);
      if (reply.text.trim() !== '') return reply;
      throw new ModelFailure('protocol', `model ${model.name}: no text where one was wanted`, {
        retryable: true,
      });
    },
  };
}

/**
 * One span for the call with all its retries, by the GenAI conventions of OpenTelemetry. What was asked and answered is in it
 * only if the operator wants that.
 */
async function callModel(
  model: Model,
  request: ModelRequest,
  options: FallbackOptions,
  guard: Guard,
): Promise<ModelReply> {
  const { provider, modelId, server } = model;
  const startedAt = performance.now();
  const observe = (error: string, reply?: ModelReply): void =>
    observeCall(model, (performance.now() - startedAt) / 1000, error, reply);
  return withSpan(
    () => ({
      name: `chat ${modelId}`,
      kind: SpanKind.CLIENT,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': provider,
        'gen_ai.request.model': modelId,
        [SESSION_ID]: options.sessionId,
        'angelia.model': model.name,
        ...serverAttributes(server),
        ...(model.streaming ? { 'gen_ai.request.stream': true } : {}),
        ...requestContent(request),
      },
    }),
    async (span) => {
      try {
        const onFailedTry = (failure: ModelFailure, tries: number): void =>
          options.logger.warn(
            {
              session_id: options.sessionId,
              model: model.name,
              code: failure.code,
              tries,
              reason: failure.message,
            },
            'model call failed',
          );
        const reply = await callWithRetry(model, request, options.assertHeld(), onFailedTry, guard);
        observe('', reply);
        if (isTracing()) describeReply(span, reply);
        return reply;
      } catch (error) {
        const type = errorTypeOf(error);
        observe(type);
        span.setAttributes({ 'error.type': type, 'gen_ai.response.finish_reasons': ['error'] });
        throw error;
      }
    },
  );
}

function serverAttributes(server: Model['server']): Record<string, string | number> {
  return server === null ? {} : { 'server.address': server.address, 'server.port': server.port };
}

/** The status that the provider answered with, else our own code. `stopped`: cancelled, drained, timed out. */
function errorTypeOf(error: unknown): string {
  if (error instanceof ModelPaused) return error.code;
  if (!(error instanceof ModelFailure)) return 'stopped';
  return error.status === null ? error.code : String(error.status);
}

function observeCall(
  { provider, modelId, server }: Model,
  seconds: number,
  error: string,
  reply?: ModelReply,
): void {
  const labels = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': modelId,
    'gen_ai.response.model': reply?.response?.model ?? '',
  } as const;
  const where = serverAttributes(server);
  metrics.genAiOperationSeconds.observe({ ...labels, 'error.type': error }, seconds, where);
  // By the conventions, an estimate is not reported.
  if (reply === undefined || reply.usageIsEstimate) return;
  const { input_tokens: input, output_tokens: output } = reply.usage;
  metrics.genAiTokens.observe({ ...labels, 'gen_ai.token.type': 'input' }, input, where);
  metrics.genAiTokens.observe({ ...labels, 'gen_ai.token.type': 'output' }, output, where);
}

/** The words of the conventions for those of the AI SDK. */
const finishReasons: Readonly<Record<string, string>> = {
  'content-filter': 'content_filter',
  'tool-calls': 'tool_call',
};

function describeReply(span: Span, reply: ModelReply): void {
  const { finishReason, usage, usageIsEstimate, response } = reply;
  span.setAttributes({
    'gen_ai.response.finish_reasons': [finishReasons[finishReason] ?? finishReason],
    ...(usageIsEstimate
      ? {}
      : {
          'gen_ai.usage.input_tokens': usage.input_tokens,
          'gen_ai.usage.output_tokens': usage.output_tokens,
        }),
    ...(response?.id === undefined ? {} : { 'gen_ai.response.id': response.id }),
    ...(response?.model === undefined ? {} : { 'gen_ai.response.model': response.model }),
    ...replyContent(reply),
  });
}
