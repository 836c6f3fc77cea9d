import type { IncomingMessage } from 'node:http';

/** One answer of the model, independent of the protocol. */
export interface ModelAnswer {
  readonly text: string;
  readonly toolCalls: readonly AnsweredCall[];
  /** As in chat-completions. Default: `tool_calls` or `stop`. */
  readonly finishReason?: string;
  readonly usage: { readonly input: number; readonly output: number };
  /** What it thought first. It wants this back with the results of its calls. */
  readonly thoughts?: Thoughts;
}

export interface Thoughts {
  /** `reasoning_content`, or the text of a signed thinking block. */
  readonly text?: string;
  /** Anthropic: an encrypted block. */
  readonly redacted?: string;
  /** Google: `extra_content` of the first call. */
  readonly signature?: string;
}

/** The thoughts behind a call that the server answered with, and the model whose they are. */
export interface ThoughtCall {
  readonly model: string;
  readonly thoughts: Thoughts;
  readonly isFirst: boolean;
}

interface AnsweredCall {
  readonly id: string;
  readonly name: string;
  /** As the model writes them. They need not be JSON. */
  readonly arguments: string;
}

/** A request in the shape of chat-completions, whatever its protocol was. Tests read this. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly tools?: readonly ChatTool[];
  readonly max_tokens?: number;
}

interface ChatTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters: Readonly<Record<string, unknown>>;
  };
}

interface ChatToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  readonly extra_content?: { readonly google?: { readonly thought_signature?: string } };
}

interface ChatPart {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: { readonly url: string };
}

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content: string | null | readonly ChatPart[];
  readonly tool_calls?: readonly ChatToolCall[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
}

/** The protocol of one provider, at one path. */
export interface ModelProtocol {
  readonly path: string;
  /** What is wrong with a request according to the documentation of the protocol. Empty: nothing. */
  problems(
    incoming: IncomingMessage,
    body: unknown,
    thoughtCalls: ReadonlyMap<string, ThoughtCall>,
  ): string[];
  /** Null: the key is right. */
  keyProblem(incoming: IncomingMessage, apiKey: string): string | null;
  asChat(body: unknown): ChatRequest;
  /** The pieces of a streamed answer. The first ones alone are what a server sends that dies in the middle. */
  streamed(request: ChatRequest, answer: ModelAnswer): StreamedAnswer;
  whole(request: ChatRequest, answer: ModelAnswer): object;
  error(status: number, message: string, code: string | undefined): object;
  /** An error in the middle of a stream. */
  streamedError(message: string, type: string): string;
}

interface StreamedAnswer {
  /** Before the first token. */
  readonly head: readonly string[];
  /** Each is a token or a piece of arguments. */
  readonly tokens: readonly string[];
  /** Says that the answer is complete. */
  readonly tail: readonly string[];
}

export const nameProblem = (place: string, name: unknown): string[] =>
  typeof name === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(name) ? [] : [`${place}: name ${String(name)}`];

export function schemaProblem(place: string, schema: unknown): string[] {
  return isRecord(schema) && schema.type === 'object' ? [] : [`${place}: its schema is not of type object`];
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isObjectText(text: unknown): boolean {
  try {
    return typeof text === 'string' && isRecord(JSON.parse(text));
  } catch {
    return false;
  }
}

/** A model of this name takes no images, as most that run on one's own machine. */
export const TEXT_ONLY = 'text-only';

export function imageProblem(place: string, mediaType: unknown, data: unknown): string[] {
  if (!/^image\/(png|jpeg|gif|webp)$/.test(String(mediaType)))
    return [`${place}: image of type ${String(mediaType)}`];
  return /^[A-Za-z0-9+/]+={0,2}$/.test(String(data)) ? [] : [`${place}: an image that is not base64`];
}

export const pieces = (text: string): string[] => text.match(/[\s\S]{1,16}/g) ?? [];
