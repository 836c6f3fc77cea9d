import type { ToolCall } from '@angelia/contracts';
import { captured, captures } from '@angelia/service-kit';
import type { Attributes } from '@opentelemetry/api';
import type { ModelMessage, ModelReply, ModelRequest } from './model.ts';

/**
 * What was asked and answered, as attributes of a model call's span, in the JSON of OpenTelemetry's GenAI conventions. Only the
 * classes that the operator asked for; by default none. A conversation holds all classes: what was said before as answers,
 * the calls with their arguments, and the results.
 */
type Part =
  | { readonly type: 'text'; readonly content: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: string }
  | { readonly type: 'tool_call_response'; readonly id: string; readonly response: string };

interface Message {
  readonly role: ModelMessage['role'];
  readonly parts: readonly Part[];
}

/** In characters. The newest messages; the spans of earlier calls have the older ones. */
const LONGEST_CONVERSATION = 65_536;

export function requestContent({ system, messages }: ModelRequest): Attributes {
  const attributes: Attributes = {};
  if (captures('prompts') && system !== '')
    attributes['gen_ai.system_instructions'] = JSON.stringify([textPart(system)]);
  const newest: string[] = [];
  let length = 0;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const parts = partsOf(messages[at] as ModelMessage);
    if (parts.length === 0) continue;
    const text = JSON.stringify({ role: (messages[at] as ModelMessage).role, parts } satisfies Message);
    length += text.length;
    if (length > LONGEST_CONVERSATION && newest.length > 0) break;
    newest.unshift(text);
  }
  if (newest.length > 0) attributes['gen_ai.input.messages'] = `[${newest.join(',')}]`;
  return attributes;
}

export function replyContent({ text, toolCalls }: ModelReply): Attributes {
  const parts = assistantParts(text, toolCalls);
  if (parts.length === 0) return {};
  return {
    'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts }] satisfies Message[]),
  };
}

function partsOf(message: ModelMessage): Part[] {
  switch (message.role) {
    case 'user':
      return captures('prompts') ? [textPart(message.content)] : [];
    case 'assistant':
      return assistantParts(message.content, message.toolCalls);
    case 'tool':
      return captures('tool_results')
        ? [{ type: 'tool_call_response', id: message.callId, response: captured(message.content) }]
        : [];
  }
}

function assistantParts(text: string, toolCalls: readonly ToolCall[]): Part[] {
  return [
    ...(captures('answers') && text !== '' ? [textPart(text)] : []),
    ...(captures('tool_arguments')
      ? toolCalls.map(
          (call): Part => ({
            type: 'tool_call',
            id: call.id,
            name: call.name,
            arguments: captured(call.arguments),
          }),
        )
      : []),
  ];
}

function textPart(text: string): Part {
  return { type: 'text', content: captured(text) };
}
