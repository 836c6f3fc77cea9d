import type { IncomingMessage } from 'node:http';
import {
  type ChatMessage,
  type ChatRequest,
  imageProblem,
  isObjectText,
  isRecord,
  type ModelAnswer,
  type ModelProtocol,
  nameProblem,
  pieces,
  schemaProblem,
  TEXT_ONLY,
  type ThoughtCall,
} from './model-protocol.ts';

/** OpenAI's chat-completions, with and without streaming. */
export const chatCompletions: ModelProtocol = {
  path: '/v1/chat/completions',
  problems,
  keyProblem: (incoming, apiKey) =>
    incoming.headers.authorization === `Bearer ${apiKey}` ? null : 'Incorrect API key provided',
  asChat: (body) => body as ChatRequest,
  streamed(request, answer) {
    const finish = answer.finishReason ?? (answer.toolCalls.length > 0 ? 'tool_calls' : 'stop');
    const usage = request.stream_options?.include_usage
      ? [event({ ...head(request, 'chat.completion.chunk'), choices: [], usage: usageOf(answer) })]
      : [];
    return {
      head: [chunk(request, { role: 'assistant', content: '' }, null)],
      tokens: [
        ...pieces(answer.thoughts?.text ?? '').map((reasoning_content) =>
          chunk(request, { reasoning_content }, null),
        ),
        ...pieces(answer.text).map((content) => chunk(request, { content }, null)),
        ...answer.toolCalls.flatMap((call, index) => [
          chunk(
            request,
            callDelta(index, { id: call.id, type: 'function', ...signed(answer, index) }, call.name, ''),
            null,
          ),
          ...pieces(call.arguments).map((piece) => chunk(request, callDelta(index, {}, null, piece), null)),
        ]),
      ],
      tail: [chunk(request, {}, finish), ...usage, 'data: [DONE]\n\n'],
    };
  },
  whole(request, answer) {
    const calls = answer.toolCalls.map(({ id, name, arguments: args }, index) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
      ...signed(answer, index),
    }));
    const message = {
      role: 'assistant',
      content: answer.text === '' && calls.length > 0 ? null : answer.text,
      ...(answer.thoughts?.text === undefined ? {} : { reasoning_content: answer.thoughts.text }),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    };
    const finish_reason = answer.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop');
    return {
      ...head(request, 'chat.completion'),
      choices: [{ index: 0, message, finish_reason }],
      usage: usageOf(answer),
    };
  },
  error: (_status, message, code) => ({
    error: { message, type: 'test_error', param: null, code: code ?? null },
  }),
  streamedError: (message, type) => event({ error: { message, type, param: null, code: null } }),
};

/** Google signs the first of several calls. */
function signed({ thoughts }: ModelAnswer, index: number): object {
  return index === 0 && thoughts?.signature !== undefined ? extraContent(thoughts.signature) : {};
}

const extraContent = (thought_signature: string) => ({ extra_content: { google: { thought_signature } } });

function callDelta(index: number, first: object, name: string | null, args: string): object {
  const named = name === null ? {} : { name };
  return { tool_calls: [{ index, ...first, function: { ...named, arguments: args } }] };
}

function chunk(request: ChatRequest, delta: object, finishReason: string | null): string {
  return event({
    ...head(request, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  });
}

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

const head = (request: ChatRequest, object: string) => ({
  id: 'chatcmpl-test',
  object,
  created: Math.floor(Date.now() / 1000),
  model: request.model,
});

function usageOf({ usage: { input, output } }: ModelAnswer) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

/** The fields of the documented body. A strict server refuses any other. */
const KNOWN_FIELDS = new Set(
  (
    'model messages stream stream_options temperature top_p max_tokens max_completion_tokens stop seed n user tools ' +
    'tool_choice parallel_tool_calls response_format presence_penalty frequency_penalty logit_bias logprobs ' +
    'top_logprobs metadata store reasoning_effort service_tier'
  ).split(' '),
);
const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

function problems(
  incoming: IncomingMessage,
  body: unknown,
  thoughtCalls: ReadonlyMap<string, ThoughtCall>,
): string[] {
  const found: string[] = [];
  if (!incoming.headers['content-type']?.startsWith('application/json')) {
    found.push(`content-type ${incoming.headers['content-type']}`);
  }
  if (!isRecord(body)) return [...found, 'the body is no object'];
  for (const field of Object.keys(body)) if (!KNOWN_FIELDS.has(field)) found.push(`unknown field ${field}`);
  if (typeof body.model !== 'string' || body.model === '') found.push('model is missing');
  if (body.stream !== undefined && typeof body.stream !== 'boolean') found.push('stream is not a boolean');
  if (body.stream_options !== undefined && body.stream !== true) found.push('stream_options without stream');
  if (body.tools !== undefined) found.push(...problemsOfTools(body.tools));
  if (!Array.isArray(body.messages) || body.messages.length === 0) return [...found, 'messages is empty'];
  const messages = body.messages as ChatMessage[];
  for (const [index, message] of messages.entries()) {
    found.push(...problemsOfMessage(message, index), ...problemsOfImages(message, index, String(body.model)));
  }
  return [
    ...found,
    ...problemsOfOrder(messages),
    ...problemsOfThoughts(messages, String(body.model), thoughtCalls),
  ];
}

/**
 * DeepSeek and Moonshot refuse the steps of the current turn without `reasoning_content`, Google without its signature.
 * Nobody knows what to do with the thoughts of another model.
 */
function problemsOfThoughts(
  messages: readonly ChatMessage[],
  model: string,
  thoughtCalls: ReadonlyMap<string, ThoughtCall>,
): string[] {
  const turn = messages.findLastIndex(({ role }) => role === 'user');
  return messages.flatMap((message, index) =>
    (message.tool_calls ?? []).flatMap((call) => {
      const place = `messages[${index}]`;
      const known = thoughtCalls.get(call.id);
      const wanted = known?.model === model ? known : undefined;
      if (wanted === undefined || index < turn) {
        const foreign = message.reasoning_content !== undefined || call.extra_content !== undefined;
        return wanted === undefined && foreign ? [`${place}: thoughts that are not of this model`] : [];
      }
      const { text, signature } = wanted.thoughts;
      const sent = call.extra_content?.google?.thought_signature;
      return [
        ...(message.reasoning_content === text
          ? []
          : [`${place}: thinking is enabled but reasoning_content is missing or changed`]),
        ...(sent === (wanted.isFirst ? signature : undefined)
          ? []
          : [`${place}: the call is missing its thought_signature, or it is another one`]),
      ];
    }),
  );
}

function problemsOfImages({ role, content }: ChatMessage, index: number, model: string): string[] {
  const place = `messages[${index}]`;
  const images = Array.isArray(content) ? content.filter(({ type }) => type === 'image_url') : [];
  if (images.length === 0) return [];
  if (model === TEXT_ONLY) return [`${place}: this model does not support image input`];
  if (role !== 'user') return [`${place}: an image in a message of role ${role}`];
  return images.flatMap(({ image_url }) => {
    const [, type, data] = /^data:([^;]+);base64,(.*)$/.exec(image_url?.url ?? '') ?? [];
    return imageProblem(place, type, data);
  });
}

function problemsOfTools(tools: unknown): string[] {
  if (!Array.isArray(tools) || tools.length === 0) return ['tools is empty'];
  return tools.flatMap((tool: unknown, index) => {
    const place = `tools[${index}]`;
    if (!isRecord(tool) || tool.type !== 'function' || !isRecord(tool.function))
      return [`${place}: no function`];
    return [...nameProblem(place, tool.function.name), ...schemaProblem(place, tool.function.parameters)];
  });
}

function problemsOfMessage(message: ChatMessage, index: number): string[] {
  const place = `messages[${index}]`;
  if (!ROLES.has(message.role)) return [`${place}: role ${message.role}`];
  if (message.role === 'tool' && typeof message.tool_call_id !== 'string') {
    return [`${place}: a tool message without tool_call_id`];
  }
  const calls = message.tool_calls ?? [];
  const hasContent = typeof message.content === 'string' || Array.isArray(message.content);
  if (!hasContent && !(message.role === 'assistant' && calls.length > 0)) return [`${place}: no content`];
  // OpenAI itself accepts empty content, but many servers with its protocol do not.
  if (message.role !== 'tool' && message.content === '') return [`${place}: empty content`];
  return calls.flatMap((call) => [
    ...nameProblem(place, call.function?.name),
    ...(isObjectText(call.function?.arguments) ? [] : [`${place}: arguments that are no JSON object`]),
    ...(call.id.length > 40 ? [`${place}: a call id of more than 40 characters`] : []),
  ]);
}

/** Every call is directly followed by its result, every result has a call, and turns alternate. */
function problemsOfOrder(messages: readonly ChatMessage[]): string[] {
  const found: string[] = [];
  let open = new Set<string>();
  let before: ChatMessage | undefined;
  for (const [index, message] of messages.entries()) {
    const place = `messages[${index}]`;
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id ?? '')) found.push(`${place}: a result without a call before it`);
    } else {
      if (open.size > 0) found.push(`${place}: calls without a result before it: ${[...open].join(', ')}`);
      open = new Set((message.tool_calls ?? []).map(({ id }) => id));
      if (open.size < (message.tool_calls?.length ?? 0)) found.push(`${place}: two calls with one id`);
    }
    if (message.role === before?.role && message.role !== 'tool') {
      found.push(`${place}: ${message.role} after ${message.role}`);
    }
    if ((message.role === 'system' || message.role === 'developer') && index > 0) {
      found.push(`${place}: ${message.role} is not the first`);
    }
    before = message;
  }
  if (open.size > 0) found.push(`calls without a result at the end: ${[...open].join(', ')}`);
  if (before?.role === 'assistant') found.push('the last message is the assistant’s own');
  return found;
}
