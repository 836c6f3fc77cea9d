import { type KeptReasoning, ModelFailure, type ModelMessage, type ModelRequest } from './model.ts';
import type { RemoteModelConfig } from './remote-model.ts';

/**
 * Models that think before a tool call want their thoughts back with its result. Some providers refuse a request without
 * them: Anthropic the signed thinking blocks, Google the signatures, DeepSeek and Moonshot `reasoning_content`. What came
 * is kept as JSON text in the event of the step and goes back as it came, and only to the model that wrote it: a
 * signature is worth nothing elsewhere, and another provider would refuse the field.
 */

/** In characters: twice what the longest answer of 128,000 tokens takes, signatures included. */
const LONGEST_REASONING = 1_000_000;

export function reasoningOwner({ provider, model }: Pick<RemoteModelConfig, 'provider' | 'model'>): string {
  return `${provider}/${model}`;
}

/** @throws ModelFailure if it is too long to be kept */
export function keepReasoning(name: string, of: string, reasoning: unknown): KeptReasoning {
  // As text: Postgres' JSON cannot hold every character of a thought, and a changed thought does not fit its signature.
  const data = JSON.stringify(reasoning);
  if (data.length <= LONGEST_REASONING) return { of, data };
  throw new ModelFailure('protocol', `model ${name}: thoughts of more than ${LONGEST_REASONING} characters`, {
    retryable: true,
  });
}

/** The request as this model takes it: without the thoughts of other models, and without images that it cannot see. */
export function ownRequest(request: ModelRequest, config: RemoteModelConfig): ModelRequest {
  const own = withOwnReasoning(request, reasoningOwner(config));
  return config.images ? own : withoutImages(own);
}

const UNSEEN = '[You cannot see images: this model takes none.]';

function withoutImages(request: ModelRequest): ModelRequest {
  const hasImages = (message: ModelMessage) => message.role !== 'assistant' && message.images !== undefined;
  if (!request.messages.some(hasImages)) return request;
  const messages = request.messages.map((message) => {
    if (message.role === 'assistant' || message.images === undefined) return message;
    const { images: _, ...text } = message;
    return { ...text, content: `${message.content}\n${UNSEEN}` };
  });
  return { ...request, messages };
}

/** The request without the thoughts of other models. */
function withOwnReasoning(request: ModelRequest, owner: string): ModelRequest {
  const isForeign = (message: ModelMessage) =>
    message.role === 'assistant' && message.reasoning !== undefined && message.reasoning.of !== owner;
  if (!request.messages.some(isForeign)) return request;
  const messages = request.messages.map((message) =>
    isForeign(message) ? { ...message, reasoning: undefined } : message,
  );
  return { ...request, messages };
}

/** What the client kept with the message. Null: nothing. */
export function reasoningOf<T>(message: Extract<ModelMessage, { role: 'assistant' }>): T | null {
  return message.reasoning === undefined ? null : (JSON.parse(message.reasoning.data) as T);
}
