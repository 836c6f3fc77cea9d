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
import type { ModelMessage, ModelRequest, ToolSpec } from '../model.ts';

interface RequestOptions {
  readonly model: string;
  readonly maxTokens: number | undefined;
  readonly stream: boolean;
}

/** The body of a request in the chat-completions protocol. */
export function chatRequest(
  { system, messages, tools }: ModelRequest,
  { model, maxTokens, stream }: RequestOptions,
): string {
  const conversation = messages.map(chatMessage);
  return JSON.stringify({
    model,
    max_tokens: maxTokens,
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
      return { role: 'user', content: filled(message.content, NOTHING_ASKED) };
    case 'assistant':
      if (message.toolCalls.length === 0) {
        return { role: 'assistant', content: filled(message.content, NOTHING_SAID) };
      }
      return {
        role: 'assistant',
        content: isBlank(message.content) ? null : message.content,
        tool_calls: message.toolCalls.map(chatCall),
      };
    case 'tool':
      return { role: 'tool', tool_call_id: acceptableId(message.callId), content: message.content };
  }
}

function chatCall({ id, name, arguments: written }: ToolCall): object {
  return {
    id: acceptableId(id),
    type: 'function',
    function: { name: acceptableName(name), arguments: JSON.stringify(acceptableArguments(written)) },
  };
}
