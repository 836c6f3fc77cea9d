import type { AgentConfig } from '@angelia/contracts';
import { type Logger, withSpan } from '@angelia/service-kit';
import { SpanKind } from '@opentelemetry/api';
import { type Model, ModelFailure, type ModelReply, type ModelRequest } from './models/model.ts';
import type { Models } from './models/models.ts';
import { callWithRetry } from './models/retry.ts';

export interface AskOptions {
  readonly models: Models;
  readonly signal: () => AbortSignal;
  readonly logger: Logger;
  readonly sessionId: string;
  /** Before the next model is asked: the user is told. */
  readonly onFallback: (name: string) => Promise<void>;
}

/** Thrown when the agent's model and all its fallbacks failed. Another try later is the user's to make. */
export class ModelsFailed extends Error {
  override readonly name = 'ModelsFailed';
  readonly code = 'models_failed';
  readonly retryable = false;
}

/** Asks the agent's model, then one after the other of its `fallback_models`. */
export async function askModel(
  agent: AgentConfig,
  request: ModelRequest,
  options: AskOptions,
): Promise<{ readonly model: string; readonly reply: ModelReply }> {
  const names = [...(agent.model === undefined ? [] : [agent.model]), ...agent.fallback_models];
  const failures: string[] = [];
  for (const [index, name] of names.entries()) {
    if (index > 0) await options.onFallback(name);
    const model = options.models.get(name);
    if (model === undefined) {
      failures.push(`model ${name} is not in the config any more`);
      continue;
    }
    try {
      return { model: name, reply: await chat(model, request, options) };
    } catch (error) {
      if (!(error instanceof ModelFailure) || options.signal().aborted) throw error;
      failures.push(error.message);
    }
  }
  throw new ModelsFailed(failures.join('; ') || 'the agent names no model');
}

/** By the GenAI conventions of OpenTelemetry; what was asked and answered stays out of it. */
function chat(model: Model, request: ModelRequest, options: AskOptions): Promise<ModelReply> {
  return withSpan(
    `chat ${model.modelId}`,
    {
      kind: SpanKind.CLIENT,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': model.provider,
        'gen_ai.request.model': model.modelId,
        'gen_ai.conversation.id': options.sessionId,
        'angelia.model': model.name,
      },
    },
    async (span) => {
      const reply = await callWithRetry(model, request, options.signal(), (failure, tries) =>
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
      span.setAttributes({
        'gen_ai.response.finish_reasons': [reply.finishReason],
        'gen_ai.usage.input_tokens': reply.usage.input_tokens,
        'gen_ai.usage.output_tokens': reply.usage.output_tokens,
      });
      return reply;
    },
  );
}
