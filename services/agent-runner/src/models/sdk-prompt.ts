import { createHash } from 'node:crypto';
import type { LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider';
import type { ToolCall } from '@angelia/contracts';
import type { ModelMessage, ModelRequest, ToolSpec } from './model.ts';

/**
 * A request in the format of the AI SDK. Several models may have written the transcript, and one provider may refuse what
 * another wrote, for ever, since a transcript never changes. So whatever providers are known to refuse is made acceptable
 * here, the same way every time.
 */
export function sdkPrompt({ system, messages }: ModelRequest): LanguageModelV4Message[] {
  const conversation = messages.map(sdkMessage);
  return system.trim() === '' ? conversation : [{ role: 'system', content: system }, ...conversation];
}

export function sdkTools(tools: readonly ToolSpec[]): LanguageModelV4FunctionTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    inputSchema: parameters,
  }));
}

/** Anthropic and others refuse a text that is empty or only white space (D3: an empty answer is kept). */
const NOTHING_ASKED = '(no text)';
const NOTHING_SAID = '(no answer)';

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
      const said = message.content.trim() === '' ? [] : [{ type: 'text' as const, text: message.content }];
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

function filled(text: string, otherwise: string): string {
  return text.trim() === '' ? otherwise : text;
}

/** Anthropic: `^[a-zA-Z0-9_-]+$`; OpenAI: at most 40 characters. Some servers write `functions.terminal:0`. */
function acceptableId(id: string): string {
  if (/^[a-zA-Z0-9_-]{1,40}$/.test(id)) return id;
  return `call_${createHash('sha256').update(id).digest('hex').slice(0, 24)}`;
}

/** A model may invent any tool name; providers accept `^[a-zA-Z0-9_-]{1,64}$`. */
function acceptableName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown';
}

/**
 * The arguments of a call must be an object. If the model wrote something else, it has read the error; its text is kept
 * so that it can see its mistake.
 */
function acceptableArguments(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
      return parsed as Record<string, unknown>;
    }
  } catch {
    // Not JSON: handled below.
  }
  return { invalid_arguments: text };
}
