import type { ToolCall } from '@angelia/contracts';
import {
  acceptableArguments,
  acceptableId,
  acceptableName,
  filled,
  isBlank,
  NOTHING_ASKED,
  NOTHING_SAID,
} from '../acceptable-history.ts';
import { IMAGES_OF_RESULTS, withImages } from '../images-of-results.ts';
import { reasoningOf } from '../kept-reasoning.ts';
import type { ModelImage, ModelMessage, ModelRequest, ToolSpec } from '../model.ts';
import { withoutThoughts } from '../thoughts-in-text.ts';

/** What goes back with the next request, as it came. */
export interface ChatReasoning {
  /** Fields of the message: `reasoning_content`, `reasoning`, `reasoning_details`, `extra_content`. */
  readonly message: Readonly<Record<string, unknown>>;
  /** Fields of each call: Google's `extra_content`, with the signature of the thoughts. */
  readonly calls: readonly Readonly<Record<string, unknown>>[];
  /** The text with the thoughts in it. */
  readonly content: string;
}

interface RequestOptions {
  readonly model: string;
  readonly maxTokens: number | undefined;
  readonly effort: string | undefined;
  readonly stream: boolean;
}

/** The body of a request in the chat-completions protocol. */
export function chatRequest(
  { system, messages, tools }: ModelRequest,
  { model, maxTokens, effort, stream }: RequestOptions,
): string {
  const conversation = withImages(messages).map((message) =>
    // A result is only text in this protocol.
    'shown' in message ? userMessage(IMAGES_OF_RESULTS, message.shown) : chatMessage(message),
  );
  return JSON.stringify({
    model,
    max_tokens: maxTokens,
    reasoning_effort: effort,
    messages: isBlank(system) ? conversation : [{ role: 'system', content: system }, ...conversation],
    // Servers refuse an empty list.
    tools: tools.length === 0 ? undefined : tools.map(chatTool),
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  });
}

function chatTool({ name, description, parameters }: ToolSpec): object {
  return { type: 'function', function: { name, description, parameters } };
}

function chatMessage(message: ModelMessage): object {
  switch (message.role) {
    case 'user':
      return userMessage(filled(message.content, NOTHING_ASKED), message.images);
    case 'assistant':
      if (message.toolCalls.length === 0) {
        return { role: 'assistant', content: filled(message.content, NOTHING_SAID) };
      }
      return callingMessage(message);
    case 'tool':
      return { role: 'tool', tool_call_id: acceptableId(message.callId), content: message.content };
  }
}

function userMessage(text: string, images: readonly ModelImage[] = []): object {
  if (images.length === 0) return { role: 'user', content: text };
  const parts = images.map(({ mimeType, data }) => ({
    type: 'image_url',
    image_url: { url: `data:${mimeType};base64,${data}` },
  }));
  return { role: 'user', content: [{ type: 'text', text }, ...parts] };
}

/** With what the model wants back. */
function callingMessage(message: Extract<ModelMessage, { role: 'assistant' }>): object {
  const kept = reasoningOf<ChatReasoning>(message);
  // If the text began in an earlier answer, which was cut off, it is more than this step's.
  const content =
    kept !== null && withoutThoughts(kept.content) === message.content ? kept.content : message.content;
  return {
    role: 'assistant',
    content: isBlank(content) ? null : content,
    ...kept?.message,
    tool_calls: message.toolCalls.map((call, index) => ({ ...kept?.calls[index], ...chatCall(call) })),
  };
}

function chatCall({ id, name, arguments: written }: ToolCall): object {
  return {
    id: acceptableId(id),
    type: 'function',
    function: { name: acceptableName(name), arguments: JSON.stringify(acceptableArguments(written)) },
  };
}
