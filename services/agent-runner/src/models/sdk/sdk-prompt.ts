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
import { IMAGES_OF_RESULTS, withImages } from '../images-of-results.ts';
import { reasoningOf } from '../kept-reasoning.ts';
import type { ModelImage, ModelMessage, ModelRequest, ToolSpec } from '../model.ts';
import type { KeptPart } from './sdk-reasoning.ts';

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

/** A request in the format of the AI SDK. */
export function sdkPrompt(
  { system, messages }: ModelRequest,
  imagesInResults: boolean,
): LanguageModelV4Message[] {
  const conversation = (imagesInResults ? messages : withImages(messages)).map((message) =>
    'shown' in message
      ? userMessage(IMAGES_OF_RESULTS, message.shown)
      : message.role === 'tool' && imagesInResults
        ? { role: 'tool' as const, content: [{ ...resultPart(message), output: outputWithImages(message) }] }
        : sdkMessage(message),
  );
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
      return userMessage(filled(message.content, NOTHING_ASKED), message.images);
    case 'assistant': {
      const calls = message.toolCalls.map(callPart);
      if (calls.length === 0) {
        return {
          role: 'assistant',
          content: [{ type: 'text', text: filled(message.content, NOTHING_SAID) }],
        };
      }
      const kept = reasoningOf<readonly KeptPart[]>(message) ?? [];
      return { role: 'assistant', content: assistantContent(message.content, calls, kept) };
    }
    case 'tool':
      return { role: 'tool', content: [resultPart(message)] };
  }
}

/** In the order in which it came. */
function assistantContent(
  content: string,
  calls: readonly ReturnType<typeof callPart>[],
  kept: readonly KeptPart[],
): AssistantContent {
  const written = kept.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const isWhole = written === content && kept.filter(({ type }) => type === 'call').length === calls.length;
  // The text began in an earlier answer, which was cut off: thoughts come first in any case.
  const parts: readonly KeptPart[] = isWhole
    ? kept
    : [
        ...kept.filter(({ type }) => type === 'reasoning'),
        { type: 'text', text: content },
        ...calls.map(() => ({ type: 'call' as const })),
      ];
  const left = [...calls];
  return parts.flatMap((part): AssistantContent => {
    if (part.type === 'call') return left.splice(0, 1);
    if (part.type === 'text') return isBlank(part.text) ? [] : [{ type: 'text', text: part.text }];
    return [{ type: 'reasoning', text: part.text, providerOptions: part.signed }];
  });
}

const filePart = ({ mimeType, data }: ModelImage) => ({
  type: 'file' as const,
  mediaType: mimeType,
  data: { type: 'data' as const, data },
});

function userMessage(text: string, images: readonly ModelImage[] = []): LanguageModelV4Message {
  return { role: 'user', content: [{ type: 'text', text }, ...images.map(filePart)] };
}

function outputWithImages({ content, images = [] }: Extract<ModelMessage, { role: 'tool' }>) {
  if (images.length === 0) return { type: 'text' as const, value: content };
  return {
    type: 'content' as const,
    value: [{ type: 'text' as const, text: content }, ...images.map(filePart)],
  };
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
