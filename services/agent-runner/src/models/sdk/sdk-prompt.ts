import type { LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider';
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

/** A request in the format of the AI SDK. */
export function sdkPrompt({ system, messages }: ModelRequest): LanguageModelV4Message[] {
  const conversation = messages.map(sdkMessage);
  return isBlank(system) ? conversation : [{ role: 'system', content: system }, ...conversation];
}

export function sdkTools(tools: readonly ToolSpec[]): LanguageModelV4FunctionTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    inputSchema: parameters,
  }));
}

function sdkMessage(message: ModelMessage): LanguageModelV4Message {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: [{ type: 'text', text: filled(message.content, NOTHING_ASKED) }] };
    case 'assistant': {
      const calls = message.toolCalls.map(callPart);
      if (calls.length === 0) {
        return {
          role: 'assistant',
          content: [{ type: 'text', text: filled(message.content, NOTHING_SAID) }],
        };
      }
      const said = isBlank(message.content) ? [] : [{ type: 'text' as const, text: message.content }];
      return { role: 'assistant', content: [...said, ...calls] };
    }
    case 'tool':
      return { role: 'tool', content: [resultPart(message)] };
  }
}

function callPart(call: ToolCall) {
  return {
    type: 'tool-call' as const,
    toolCallId: acceptableId(call.id),
    toolName: acceptableName(call.name),
    input: acceptableArguments(call.arguments),
  };
}

function resultPart(message: Extract<ModelMessage, { role: 'tool' }>) {
  return {
    type: 'tool-result' as const,
    toolCallId: acceptableId(message.callId),
    toolName: acceptableName(message.tool),
    output: { type: 'text' as const, value: message.content },
  };
}
