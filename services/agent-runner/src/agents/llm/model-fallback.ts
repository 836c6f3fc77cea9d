import type { LlmAgentConfig } from '@angelia/contracts';
import { type Logger, metrics } from '@angelia/service-kit';
import { withSpan } from '@angelia/sessions';
import { type Span, SpanKind } from '@opentelemetry/api';
import { callWithRetry } from '../../models/call-with-retry.ts';
import { type Model, ModelFailure, type ModelReply, type ModelRequest } from '../../models/model.ts';
import type { Models } from '../../models/provide-models.ts';

export interface FallbackOptions {
  readonly models: Models;
  /** Of the run: throws when it must not go on, asked right before each call. */
  readonly held: () => AbortSignal;
  readonly logger: Logger;
  readonly sessionId: string;
  /** Before the next model is asked: the user is told. */
  readonly onFallback: (name: string) => Promise<void>;
}

export interface Answer {
  /** Name in the config of the model that gave it. */
  readonly model: string;
  readonly reply: ModelReply;
}

/** Thrown when the agent's model and all its fallbacks failed. Another try later is the user's to make. */
export class ModelsFailed extends Error {
  override readonly name = 'ModelsFailed';
  readonly code = 'models_failed';
  readonly retryable = false;
}

/** Thrown by `ask` when the model's window is too small for the request. A shorter one may be taken: compress. */
export class ConversationTooLong extends Error {
  override readonly name = 'ConversationTooLong';
  readonly code = 'conversation_too_long';
  readonly retryable = false;
}

/**
 * The models of one run: the agent's, then one after the other of its `fallback_models`. A run that had to fall back
 * stays there for its further steps, so that the user is told once and each step does not try in vain again; the next
 * run begins with the agent's model.
 */
export class FallbackModels {
  readonly #names: readonly string[];
  readonly #options: FallbackOptions;
  #at = 0;

  constructor(agent: Pick<LlmAgentConfig, 'model' | 'fallback_models'>, options: FallbackOptions) {
    this.#names = [...(agent.model === undefined ? [] : [agent.model]), ...agent.fallback_models];
    this.#options = options;
  }

  /** The model that is asked next; null: there is none of that name any more. */
  get current(): Model | null {
    return this.#options.models.get(this.#names[this.#at] ?? '') ?? null;
  }

  /**
   * @param canShorten the caller can make a shorter request: a model that finds this one too long is no reason to
   *   leave it
   * @param wantsText an empty answer is of no use: as good as none, so that it is asked for again
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
          reply: await chat(wantsText ? requireText(model) : model, request, this.#options),
        };
      } catch (error) {
        if (!(error instanceof ModelFailure)) throw error;
        this.#options.held();
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
 * By the GenAI conventions of OpenTelemetry: one span for the call with all its retries. What was asked and answered
 * stays out of it.
 */
function chat(model: Model, request: ModelRequest, options: FallbackOptions): Promise<ModelReply> {
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
        const reply = await callWithRetry(model, request, options.held(), (failure, tries) =>
          options.logger.warn(
            {
              session_id: options.sessionId,
              model: model.name,
              code: failure.code,
              tries,
              reason: failure.message,
            },
            'a model call failed',
          ),
        );
        tell(span, reply);
        return reply;
      } catch (error) {
        span.setAttribute('error.type', error instanceof ModelFailure ? error.code : 'stopped');
        throw error;
      }
    },
  );
}

function tell(span: Span, { finishReason, usage, response }: ModelReply): void {
  span.setAttributes({
    'gen_ai.response.finish_reasons': [finishReason],
    'gen_ai.usage.input_tokens': usage.input_tokens,
    'gen_ai.usage.output_tokens': usage.output_tokens,
    ...(response?.id === undefined ? {} : { 'gen_ai.response.id': response.id }),
    ...(response?.model === undefined ? {} : { 'gen_ai.response.model': response.model }),
  });
}
