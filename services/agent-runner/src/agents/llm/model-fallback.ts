import { AngeliaError, type LlmAgentConfig } from '@angelia/contracts';
import { type Logger, metrics } from '@angelia/service-kit';
import { withSpan } from '@angelia/sessions';
import { type Span, SpanKind } from '@opentelemetry/api';
import { callWithRetry } from '../../models/call-with-retry.ts';
import { type Model, ModelFailure, type ModelReply, type ModelRequest } from '../../models/model.ts';
import type { Models } from '../../models/provide-models.ts';

interface FallbackOptions {
  /** Asked for every call: a key may be rotated during the run. */
  readonly models: Pick<Models, 'get'>;
  /** Called right before each call of a model. Returns the run's signal; throws if the run must not go on. */
  readonly assertHeld: () => AbortSignal;
  readonly logger: Logger;
  readonly sessionId: string;
  /** Called before the next model is asked, to tell the user. */
  readonly onFallback: (name: string) => Promise<void>;
}

export interface Answer {
  /** The model that gave it, by its name in the config. */
  readonly model: string;
  readonly reply: ModelReply;
}

/** Thrown when the agent's model and all its fallbacks failed. The run fails; the user may try again later. */
export class ModelsFailed extends AngeliaError {
  override readonly name = 'ModelsFailed';
  readonly code = 'models_failed';
  readonly retryable = false;
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
  #at = 0;

  constructor(agent: Pick<LlmAgentConfig, 'model' | 'fallback_models'>, options: FallbackOptions) {
    this.#names = [...(agent.model === undefined ? [] : [agent.model]), ...agent.fallback_models];
    this.#options = options;
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
    const failures: string[] = [];
    for (let at = this.#at; at < this.#names.length; at += 1) {
      const name = this.#names[at] as string;
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
        return {
          model: name,
          reply: await callModel(wantsText ? requireText(model) : model, request, this.#options),
        };
      } catch (error) {
        if (!(error instanceof ModelFailure)) throw error;
        this.#options.assertHeld();
        if (error.code === 'too_long' && canShorten) throw new ConversationTooLong(error.message);
        failures.push(error.message);
      }
    }
    throw new ModelsFailed(failures.join('; ') || 'the agent names no model');
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
function callModel(model: Model, request: ModelRequest, options: FallbackOptions): Promise<ModelReply> {
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
        const reply = await callWithRetry(model, request, options.assertHeld(), (failure, tries) =>
          options.logger.warn(
            {
              session_id: options.sessionId,
              model: model.name,
              code: failure.code,
              tries,
              reason: failure.message,
            },
            'model call failed',
          ),
        );
        describeReply(span, reply);
        return reply;
      } catch (error) {
        span.setAttribute('error.type', error instanceof ModelFailure ? error.code : 'stopped');
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
