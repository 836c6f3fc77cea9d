import { AngeliaError, type LlmAgentConfig, type SessionId } from '@angelia/contracts';
import { type Logger, metrics } from '@angelia/service-kit';
import type { UnusableModel } from '@angelia/session';
import { withSpan } from '@angelia/sessions';
import { type Span, SpanKind } from '@opentelemetry/api';
import { callWithRetry, type Guard } from '../../models/call-with-retry.ts';
import { type Model, ModelFailure, type ModelReply, type ModelRequest } from '../../models/model.ts';
import type { Models } from '../../models/provide-models.ts';
import { type ModelCircuits, ModelPaused } from '../../outages/model-circuits.ts';
import { asUnusable } from '../../outages/put-off.ts';

interface FallbackOptions {
  readonly models: Models;
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
    throw new ModelsFailed(failures.join('; ') || 'the agent names no model', unusable);
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
 * One span for the call with all its retries, by the GenAI conventions of OpenTelemetry. It does not hold what was asked
 * and answered.
 */
function callModel(
  model: Model,
  request: ModelRequest,
  options: FallbackOptions,
  guard: Guard,
): Promise<ModelReply> {
  const { provider, modelId, server } = model;
  return withSpan(
    `model ${modelId}`,
    {
      kind: SpanKind.CLIENT,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': provider,
        'gen_ai.request.model': modelId,
        'gen_ai.conversation.id': options.sessionId,
        'angelia.model': model.name,
        ...(server === null ? {} : { 'server.address': server.address, 'server.port': server.port }),
      },
    },
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
        describeReply(span, reply);
        return reply;
      } catch (error) {
        const failed = error instanceof ModelFailure || error instanceof ModelPaused;
        span.setAttribute('error.type', failed ? error.code : 'stopped');
        throw error;
      }
    },
  );
}

function describeReply(span: Span, { finishReason, usage, response }: ModelReply): void {
  span.setAttributes({
    'gen_ai.response.finish_reasons': [finishReason],
    'gen_ai.usage.input_tokens': usage.input_tokens,
    'gen_ai.usage.output_tokens': usage.output_tokens,
    ...(response?.id === undefined ? {} : { 'gen_ai.response.id': response.id }),
    ...(response?.model === undefined ? {} : { 'gen_ai.response.model': response.model }),
  });
}
