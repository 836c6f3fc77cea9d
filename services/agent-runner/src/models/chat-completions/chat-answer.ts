import { notTheProtocol } from '../call-errors.ts';
import { assertNotEndless, type ReadReply, writtenArguments } from '../checked-reply.ts';
import { withoutThoughts } from '../thoughts-in-text.ts';
import type { ChatReasoning } from './chat-request.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A call as it is being written. */
interface WrittenCall {
  readonly index: number | null;
  id: string;
  name: string;
  arguments: string;
  /** Google's `extra_content`: the signature of the thoughts before the call. */
  extra: Fields;
}

/**
 * Puts an answer in the chat-completions protocol together: from the chunks of a stream, or from one document. Strict about
 * the shape, because something else than an answer must not pass for one. Lenient where servers are known to differ.
 *
 * What a model wants back with its next request (thoughts and their signatures) goes back in chat-request.ts.
 */
export class ChatAnswer {
  #text = '';
  /** In characters: text, thoughts, and the names and arguments of calls. */
  #length = 0;
  /** The fields that the model wants back. */
  readonly #thoughts: Record<string, unknown> = {};
  readonly #calls: WrittenCall[] = [];
  readonly #byIndex = new Map<number, WrittenCall>();
  #finishReason = '';
  #isWhole = false;
  #isRefusal = false;
  #usage: ReadReply['usage'] = { input: undefined, output: undefined };
  #id: string | undefined;
  #model: string | undefined;

  /**
   * False: the chunk had no token. Some gateways send such chunks to keep a connection open.
   *
   * @throws the provider's `error` object as it is, a BrokenExchange, or an error if the answer is too long
   */
  addChunk(data: string): boolean {
    const before = this.#length;
    const [choice] = this.#choicesOf(parsed(data));
    this.#addMessage(fields(choice?.delta ?? {}), 'part');
    this.#finishReason = text(choice?.finish_reason) || this.#finishReason;
    assertNotEndless(this.#length);
    return this.#length > before;
  }

  /** @throws as `addChunk` */
  addDocument(document: string): void {
    const [choice] = this.#choicesOf(parsed(document));
    if (choice === undefined) throw notTheProtocol();
    this.#addMessage(fields(choice.message), 'all');
    this.#finishReason = text(choice.finish_reason);
    // Half a document cannot be parsed, so this one is whole even if it gives no finish reason.
    this.#isWhole = true;
    assertNotEndless(this.#length);
  }

  /** The server says that this is all (`[DONE]`). Some give no finish reason before it. */
  streamEnded(): void {
    this.#isWhole ||= this.#calls.length > 0 || withoutThoughts(this.#text) !== '';
  }

  /** @throws BrokenExchange for a call without a name */
  reply(): ReadReply {
    if (this.#calls.some(({ name }) => name === '')) throw notTheProtocol();
    const calls = inOrder(this.#calls);
    return {
      text: this.#text,
      ...(this.#hasThoughts ? { reasoning: this.#reasoning(calls) } : {}),
      toolCalls: calls.map((call, position) => ({
        id: call.id || `call_${position + 1}`,
        name: call.name,
        arguments: writtenArguments(call.arguments),
      })),
      finishReason: this.#unifiedFinishReason(),
      complete: this.#isWhole || this.#finishReason !== '',
      usage: this.#usage,
      response: { id: this.#id, model: this.#model },
    };
  }

  get #hasThoughts(): boolean {
    if (withoutThoughts(this.#text) !== this.#text) return true;
    return [this.#thoughts, ...this.#calls.map(({ extra }) => extra)].some(
      (fields) => Object.keys(fields).length > 0,
    );
  }

  #reasoning(calls: readonly WrittenCall[]): ChatReasoning {
    return { message: this.#thoughts, calls: calls.map(({ extra }) => extra), content: this.#text };
  }

  #choicesOf(chunk: Fields): Fields[] {
    if (chunk.error != null) throw typeof chunk.error === 'string' ? { message: chunk.error } : chunk.error;
    this.#id ??= text(chunk.id) || undefined;
    this.#model ??= text(chunk.model) || undefined;
    // In the last chunk, or the sum so far in every chunk.
    if (chunk.usage != null) {
      const { prompt_tokens, completion_tokens } = fields(chunk.usage);
      this.#usage = { input: tokens(prompt_tokens), output: tokens(completion_tokens) };
    }
    return list(chunk.choices).map(fields);
  }

  /** A message and the delta of one have the same fields. */
  #addMessage(message: Fields, isAllOrPart: 'all' | 'part'): void {
    this.#addThoughts(message);
    this.#addContent(message.content);
    // OpenAI's models refuse in a field of its own. Some servers write `false` there.
    if (typeof message.refusal === 'string' && message.refusal !== '') {
      this.#isRefusal = true;
      this.#addContent(message.refusal);
    }
    for (const [position, call] of list(message.tool_calls).entries()) {
      this.#addCall(fields(call), isAllOrPart === 'all' ? position : null);
    }
  }

  /** DeepSeek's and Moonshot's `reasoning_content`, vLLM's `reasoning`, OpenRouter's `reasoning_details`, Google's `extra_content`. */
  #addThoughts(message: Fields): void {
    for (const field of ['reasoning_content', 'reasoning'] as const) {
      const added = text(message[field]);
      if (added !== '') this.#thoughts[field] = `${this.#thoughts[field] ?? ''}${added}`;
      this.#length += added.length;
    }
    const details = list(message.reasoning_details);
    if (details.length > 0) {
      const before = (this.#thoughts.reasoning_details ?? []) as readonly unknown[];
      this.#thoughts.reasoning_details = [...before, ...details];
      this.#length += JSON.stringify(details).length;
    }
    const extra = extraOf(message);
    this.#length += JSON.stringify(extra).length - '{}'.length;
    Object.assign(this.#thoughts, extra);
  }

  /** A text, or a list of parts, of which Mistral makes thoughts one. */
  #addContent(content: unknown): void {
    if (Array.isArray(content)) {
      for (const part of content.map(fields)) {
        if (part.type === 'text') this.#addContent(part.text);
        else this.#length += JSON.stringify(part).length;
      }
      return;
    }
    const added = text(content);
    this.#text += added;
    this.#length += added.length;
  }

  #addCall(delta: Fields, position: number | null): void {
    const { name: written, arguments: args } = fields(delta.function ?? {});
    const [id, name, more] = [text(delta.id), text(written).trim(), text(args)];
    const index = position ?? (typeof delta.index === 'number' ? delta.index : null);
    const open = this.#openCall(index, id, name);
    if (open === undefined || startsAnother(open, { id, name, more })) {
      const call: WrittenCall = { index, id, name, arguments: more, extra: extraOf(delta) };
      this.#calls.push(call);
      if (index !== null) this.#byIndex.set(index, call);
    } else {
      open.id ||= id;
      // Some servers repeat the name with every piece; others send it after the first one.
      open.name ||= name;
      open.arguments += more;
      open.extra = { ...open.extra, ...extraOf(delta) };
    }
    this.#length += name.length + more.length;
  }

  /** The call that a delta may belong to. Google sends no index, and each call whole. */
  #openCall(index: number | null, id: string, name: string): WrittenCall | undefined {
    if (index !== null) return this.#byIndex.get(index);
    const last = this.#calls.at(-1);
    return name === '' || (id !== '' && last?.id === id) ? last : undefined;
  }

  #unifiedFinishReason(): string {
    switch (this.#finishReason) {
      case 'stop':
        return this.#isRefusal ? 'content-filter' : 'stop';
      case 'length':
        return 'length';
      case 'content_filter':
        return 'content-filter';
      case 'tool_calls':
      case 'function_call':
        return 'tool-calls';
      default:
        return 'other';
    }
  }
}

function extraOf({ extra_content }: Fields): Fields {
  return extra_content == null ? {} : { extra_content: fields(extra_content) };
}

/** Some servers give each of several calls the same index. */
function startsAnother(
  open: WrittenCall,
  { id, name, more }: { id: string; name: string; more: string },
): boolean {
  if (name === '' || open.name === '') return false;
  if (id !== '' && open.id !== '') return id !== open.id;
  // Without ids: `}` is never followed by `{` within one object, except in a text.
  return open.arguments.trimEnd().endsWith('}') && more.trimStart().startsWith('{');
}

/** By index where all have one: a server may write several calls at the same time. Otherwise as they came. */
function inOrder(calls: readonly WrittenCall[]): readonly WrittenCall[] {
  if (calls.some(({ index }) => index === null)) return calls;
  return calls.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
}

function parsed(json: string): Fields {
  try {
    return fields(JSON.parse(json));
  } catch {
    throw notTheProtocol();
  }
}

function fields(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notTheProtocol();
  return value as Fields;
}

function list(value: unknown): readonly unknown[] {
  if (value == null) return [];
  if (!Array.isArray(value)) throw notTheProtocol();
  return value;
}

function text(value: unknown): string {
  if (value == null) return '';
  if (typeof value !== 'string') throw notTheProtocol();
  return value;
}

/** Undefined: the server does not count. */
function tokens(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}
