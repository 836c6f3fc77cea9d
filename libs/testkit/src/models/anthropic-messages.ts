import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  type ChatMessage,
  type ChatRequest,
  imageProblem,
  isRecord,
  type ModelAnswer,
  type ModelProtocol,
  nameProblem,
  pieces,
  schemaProblem,
  type ThoughtCall,
} from './model-protocol.ts';

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly content?: string | readonly Block[];
  readonly thinking?: string;
  readonly signature?: string;
  readonly data?: string;
  readonly source?: { readonly type: string; readonly media_type?: string; readonly data?: string };
}

interface Message {
  readonly role: string;
  readonly content: string | readonly Block[];
}

interface MessagesRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly system?: string | readonly Block[];
  readonly messages: readonly Message[];
  readonly stream?: boolean;
  readonly tools?: readonly { name: string; description?: string; input_schema: Record<string, unknown> }[];
}

/** Anthropic's messages, with and without streaming. */
export const anthropicMessages: ModelProtocol = {
  path: '/v1/messages',
  problems,
  keyProblem: (incoming, apiKey) => (incoming.headers['x-api-key'] === apiKey ? null : 'invalid x-api-key'),
  asChat: (body) => asChat(body as MessagesRequest),
  streamed(request, answer) {
    const blocks = [
      ...thoughtBlocks(answer).map(({ begin, deltas }) => ({ begin, deltas })),
      ...(answer.text === ''
        ? []
        : [
            {
              begin: { type: 'text', text: '' },
              deltas: pieces(answer.text).map((text) => ({ type: 'text_delta', text })),
            },
          ]),
      ...answer.toolCalls.map(({ id, name, arguments: args }) => ({
        begin: { type: 'tool_use', id, name, input: {} },
        deltas: pieces(args).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      })),
    ];
    const tokens = blocks.flatMap(({ begin, deltas }, index) => [
      event('content_block_start', { index, content_block: begin }),
      ...deltas.map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]);
    const delta = { stop_reason: stopReason(answer), stop_sequence: null };
    return {
      head: [
        event('message_start', {
          message: {
            ...head(request),
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { input_tokens: answer.usage.input, output_tokens: 1 },
          },
        }),
        event('ping', {}),
      ],
      tokens,
      tail: [
        event('message_delta', { delta, usage: { output_tokens: answer.usage.output } }),
        event('message_stop', {}),
      ],
    };
  },
  whole: (request, answer) => ({
    ...head(request),
    content: [
      ...thoughtBlocks(answer).map(({ whole }) => whole),
      ...(answer.text === '' ? [] : [{ type: 'text', text: answer.text }]),
      ...answer.toolCalls.map(({ id, name, arguments: args }) => ({
        type: 'tool_use',
        id,
        name,
        input: JSON.parse(args),
      })),
    ],
    stop_reason: stopReason(answer),
    stop_sequence: null,
    usage: { input_tokens: answer.usage.input, output_tokens: answer.usage.output },
  }),
  error: (status, message, code) => ({
    type: 'error',
    error: { type: code ?? ERROR_TYPES[status] ?? 'api_error', message },
    request_id: 'req_test',
  }),
  streamedError: (message, type) => event('error', { error: { type, message } }),
};

/** A changed thought does not fit its signature. */
const signatureOf = (thinking: string): string =>
  `sig-${createHash('sha256').update(thinking).digest('hex')}`;

function thoughtBlocks({ thoughts }: ModelAnswer) {
  const { text, redacted } = thoughts ?? {};
  return [
    ...(text === undefined
      ? []
      : [
          {
            whole: { type: 'thinking', thinking: text, signature: signatureOf(text) },
            begin: { type: 'thinking', thinking: '', signature: '' },
            deltas: [
              ...pieces(text).map((thinking) => ({ type: 'thinking_delta', thinking })),
              { type: 'signature_delta', signature: signatureOf(text) },
            ],
          },
        ]),
    ...(redacted === undefined
      ? []
      : [
          {
            whole: { type: 'redacted_thinking', data: redacted },
            begin: { type: 'redacted_thinking', data: redacted },
            deltas: [],
          },
        ]),
  ];
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

function stopReason({
  finishReason,
  toolCalls,
}: {
  finishReason?: string;
  toolCalls: readonly unknown[];
}): string {
  const reason = finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop');
  return STOP_REASONS[reason] ?? reason;
}

const event = (type: string, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

const head = (request: ChatRequest) => ({
  id: 'msg_test',
  type: 'message',
  role: 'assistant',
  model: request.model,
});

const KNOWN_FIELDS = new Set(
  (
    'model max_tokens messages system stream temperature top_p top_k stop_sequences tools tool_choice metadata ' +
    'thinking output_config service_tier container context_management cache_control'
  ).split(' '),
);

function problems(
  incoming: IncomingMessage,
  body: unknown,
  thoughtCalls: ReadonlyMap<string, ThoughtCall>,
): string[] {
  const found: string[] = [];
  if (!incoming.headers['content-type']?.startsWith('application/json')) {
    found.push(`content-type ${incoming.headers['content-type']}`);
  }
  if (incoming.headers['anthropic-version'] !== '2023-06-01') {
    found.push(`anthropic-version ${incoming.headers['anthropic-version']}`);
  }
  if (!isRecord(body)) return [...found, 'the body is no object'];
  for (const field of Object.keys(body)) if (!KNOWN_FIELDS.has(field)) found.push(`unknown field ${field}`);
  if (typeof body.model !== 'string' || body.model === '') found.push('model is missing');
  if (!Number.isInteger(body.max_tokens) || Number(body.max_tokens) < 1) found.push('max_tokens is missing');
  for (const block of blocksOf((body.system ?? []) as Message['content']))
    found.push(...blankText('system', block));
  if (body.tools !== undefined) found.push(...problemsOfTools(body.tools));
  if (!Array.isArray(body.messages) || body.messages.length === 0) return [...found, 'messages is empty'];
  const messages = body.messages as Message[];
  return [
    ...found,
    ...problemsOfMessages(messages),
    ...problemsOfThinking(body, messages),
    ...problemsOfThoughts(messages, String(body.model), thoughtCalls),
  ];
}

const isThought = ({ type }: Block): boolean => type === 'thinking' || type === 'redacted_thinking';

function problemsOfThinking(body: Record<string, unknown>, messages: readonly Message[]): string[] {
  const thinking = (body.thinking ?? {}) as { type?: string; budget_tokens?: number };
  if (thinking.type !== 'enabled') return [];
  const found: string[] = [];
  const { budget_tokens: budget = 0 } = thinking;
  if (budget < 1024) found.push('thinking.budget_tokens: at least 1024');
  if (budget >= Number(body.max_tokens)) found.push('max_tokens must be greater than thinking.budget_tokens');
  // The calls whose results are the last message.
  const asked = blocksOf(messages.findLast(({ role }) => role === 'assistant')?.content ?? []);
  const isAnswered = blocksOf(messages.at(-1)?.content ?? []).some(({ type }) => type === 'tool_result');
  if (isAnswered && asked[0] !== undefined && !isThought(asked[0])) {
    found.push(`Expected \`thinking\` or \`redacted_thinking\`, but found \`${asked[0].type}\``);
  }
  return found;
}

/** Thinking blocks are sent back as they came, with the calls that they belong to, and only to the model that wrote them. */
function problemsOfThoughts(
  messages: readonly Message[],
  model: string,
  thoughtCalls: ReadonlyMap<string, ThoughtCall>,
): string[] {
  return messages.flatMap(({ content }, index) => {
    const place = `messages[${index}]`;
    const blocks = blocksOf(content);
    const call = blocks.find(({ type }) => type === 'tool_use');
    const known = thoughtCalls.get(call?.id ?? '');
    const wanted = known?.model === model ? known.thoughts : {};
    const shown = (found: readonly Block[]) =>
      found
        .map(({ type, thinking, signature, data }) => JSON.stringify({ type, thinking, signature, data }))
        .join();
    const sent = blocks.filter(isThought);
    const issued = thoughtBlocks({
      text: '',
      toolCalls: [],
      usage: { input: 0, output: 0 },
      thoughts: wanted,
    });
    if (sent.length === 0) return [];
    return shown(sent) === shown(issued.map(({ whole }) => whole as Block))
      ? []
      : [`${place}: Invalid \`signature\` in \`thinking\` block, or it was modified`];
  });
}

function problemsOfTools(tools: unknown): string[] {
  if (!Array.isArray(tools) || tools.length === 0) return ['tools is empty'];
  return tools.flatMap((tool: unknown, index) => {
    const place = `tools[${index}]`;
    if (!isRecord(tool)) return [`${place}: no object`];
    return [...nameProblem(place, tool.name), ...schemaProblem(place, tool.input_schema)];
  });
}

function problemsOfMessages(messages: readonly Message[]): string[] {
  const found: string[] = [];
  let open: string[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    const place = `messages[${index}]`;
    const blocks = blocksOf(content);
    if (role !== (index % 2 === 0 ? 'user' : 'assistant')) found.push(`${place}: role ${role}`);
    if (blocks.length === 0) found.push(`${place}: no content`);
    const results = blocks.filter(({ type }) => type === 'tool_result');
    const answered = results.map((block) => block.tool_use_id ?? '');
    if (answered.toSorted().join() !== open.toSorted().join()) {
      found.push(`${place}: results of [${answered}], and calls [${open}] before it`);
    }
    if (results.length > 0 && blocks[0]?.type !== 'tool_result')
      found.push(`${place}: results are not first`);
    const uses = blocks.filter(({ type }) => type === 'tool_use');
    open = uses.map(({ id }) => id ?? '');
    for (const use of uses) {
      found.push(...nameProblem(place, use.name));
      if (!/^[a-zA-Z0-9_-]+$/.test(use.id ?? '')) found.push(`${place}: tool_use id ${use.id}`);
      if (!isRecord(use.input)) found.push(`${place}: input that is no object`);
    }
    for (const block of blocks) found.push(...blankText(place, block));
    const inside = blocks.flatMap((block) =>
      Array.isArray(block.content) ? (block.content as Block[]) : [block],
    );
    for (const { source } of inside.filter(({ type }) => type === 'image')) {
      if (source?.type !== 'base64') found.push(`${place}: an image that is ${source?.type}`);
      found.push(...imageProblem(place, source?.media_type, source?.data));
    }
  }
  if (messages.at(-1)?.role !== 'user') found.push('the last message is the assistant’s own');
  return found;
}

function blankText(place: string, block: Block): string[] {
  return block.type === 'text' && (block.text ?? '').trim() === '' ? [`${place}: a text without text`] : [];
}

function blocksOf(content: Message['content']): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function textOf(content: Message['content'] | undefined): string {
  return blocksOf(content ?? [])
    .map(({ type, text }) => (type === 'text' ? (text ?? '') : ''))
    .join('');
}

function asChat(body: MessagesRequest): ChatRequest {
  return {
    model: body.model,
    max_tokens: body.max_tokens,
    ...(body.stream === undefined ? {} : { stream: body.stream }),
    ...(body.tools === undefined
      ? {}
      : {
          tools: body.tools.map(({ name, description, input_schema }) => ({
            type: 'function' as const,
            function: {
              name,
              parameters: input_schema,
              ...(description === undefined ? {} : { description }),
            },
          })),
        }),
    messages: [
      ...(body.system === undefined ? [] : [{ role: 'system' as const, content: textOf(body.system) }]),
      ...body.messages.flatMap(asChatMessages),
    ],
  };
}

function asChatMessages({ role, content }: Message): ChatMessage[] {
  const blocks = blocksOf(content);
  if (role === 'assistant') {
    const calls = blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ id = '', name = '', input }) => ({
        id,
        type: 'function' as const,
        function: { name, arguments: JSON.stringify(input) },
      }));
    const text = textOf(content);
    return [{ role, content: text === '' ? null : text, ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
  }
  const results = blocks
    .filter(({ type }) => type === 'tool_result')
    .map(
      (block): ChatMessage => ({
        role: 'tool',
        tool_call_id: block.tool_use_id ?? '',
        content: textOf(block.content),
      }),
    );
  const text = textOf(content);
  return [...results, ...(text === '' ? [] : [{ role: 'user' as const, content: text }])];
}
