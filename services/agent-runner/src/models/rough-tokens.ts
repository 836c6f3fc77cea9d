import type { ModelMessage, ModelRequest } from './model.ts';

/**
 * A rough count of the tokens of a text. Four characters of English or three of code make a token; in other scripts each
 * character is about one. A caller that needs to be sure keeps a margin.
 */
export function roughTokens(text: string): number {
  let ascii = 0;
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) < 0x80) ascii += 1;
  return Math.ceil(ascii / 4 + (text.length - ascii));
}

export function tokensOfMessage(message: ModelMessage): number {
  const calls =
    message.role === 'assistant'
      ? message.toolCalls.reduce(
          (sum, call) => sum + roughTokens(call.name) + roughTokens(call.arguments),
          roughTokens(message.reasoning?.data ?? ''),
        )
      : 0;
  const images = message.role === 'assistant' ? 0 : (message.images?.length ?? 0) * PER_IMAGE;
  return PER_MESSAGE + roughTokens(message.content) + calls + images;
}

export function tokensOfRequest({ system, messages, tools }: ModelRequest): number {
  const conversation = messages.reduce((sum, message) => sum + tokensOfMessage(message), 0);
  return conversation + roughTokens(system) + (tools.length === 0 ? 0 : roughTokens(JSON.stringify(tools)));
}

/** The most that Anthropic counts for one; others count less. */
const PER_IMAGE = 1_600;
/** Role, separators, ids. */
const PER_MESSAGE = 8;
