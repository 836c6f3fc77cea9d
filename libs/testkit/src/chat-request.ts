import type { IncomingMessage } from 'node:http';

/** A chat-completions request, as far as its shape is checked. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly tools?: readonly unknown[];
}

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content: string | null | readonly { readonly type: string; readonly text?: string }[];
  readonly tool_calls?: readonly unknown[];
  readonly tool_call_id?: string;
}

/** Of the documented body. Anything else is a field that a strict server refuses. */
const KNOWN_FIELDS = new Set(
  (
    'model messages stream stream_options temperature top_p max_tokens max_completion_tokens stop seed n user tools ' +
    'tool_choice parallel_tool_calls response_format presence_penalty frequency_penalty logit_bias logprobs ' +
    'top_logprobs metadata store reasoning_effort service_tier'
  ).split(' '),
);
const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

/** What is wrong with a request by the protocol's own documentation; empty when nothing is. */
export function problemsOf(incoming: IncomingMessage, body: ChatRequest): string[] {
  const problems: string[] = [];
  if (incoming.method !== 'POST') problems.push(`method ${incoming.method}`);
  if (incoming.url !== '/v1/chat/completions') problems.push(`path ${incoming.url}`);
  if (!incoming.headers['content-type']?.startsWith('application/json')) {
    problems.push(`content-type ${incoming.headers['content-type']}`);
  }
  for (const field of Object.keys(body))
    if (!KNOWN_FIELDS.has(field)) problems.push(`unknown field ${field}`);
  if (typeof body.model !== 'string' || body.model === '') problems.push('model is missing');
  if (body.stream !== undefined && typeof body.stream !== 'boolean') problems.push('stream is not a boolean');
  if (body.stream_options !== undefined && body.stream !== true)
    problems.push('stream_options without stream');
  if (!Array.isArray(body.messages) || body.messages.length === 0) return [...problems, 'messages is empty'];
  for (const [index, message] of body.messages.entries()) problems.push(...problemsOfMessage(message, index));
  return problems;
}

function problemsOfMessage(message: ChatMessage, index: number): string[] {
  const place = `messages[${index}]`;
  if (!ROLES.has(message.role)) return [`${place}: role ${message.role}`];
  if (message.role === 'tool' && typeof message.tool_call_id !== 'string') {
    return [`${place}: a tool message without tool_call_id`];
  }
  const mayBeNull = message.role === 'assistant' && (message.tool_calls?.length ?? 0) > 0;
  const hasContent = typeof message.content === 'string' || Array.isArray(message.content);
  if (!hasContent && !mayBeNull) return [`${place}: no content`];
  return [];
}
