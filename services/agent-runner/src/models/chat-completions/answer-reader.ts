import { notTheProtocol, RefusedCall } from '../call-errors.ts';
import type { ReadReply } from '../checked-reply.ts';
import { ChatAnswer } from './chat-answer.ts';
import { EventStream } from './event-stream.ts';
import type { Headers, ResponseReader } from './exchange.ts';

/** Of a refusal only the message is needed. Some proxies answer with a page of HTML. */
const MOST_BYTES_OF_A_REFUSAL = 64 * 1024;

/**
 * Reads the response to a chat-completions request: a stream, a document, or a refusal. Not every server can stream, and
 * some do not for a request with tools. Such a document is there and paid for, so it is read. Unless the header says that
 * the response is a stream, its content decides: servers that do not stream are lax with headers.
 */
export class AnswerReader implements ResponseReader<ReadReply> {
  readonly #onToken: () => void;
  readonly #answer = new ChatAnswer();
  readonly #body: Buffer[] = [];
  #bodyBytes = 0;
  #events: EventStream | null = null;
  #status = 0;
  #statusText = '';
  #retryAfter: string | undefined;
  #hasChunks = false;
  #isDone = false;

  /** `onToken` is called for the headers and for every chunk with a token. */
  constructor(onToken: () => void) {
    this.#onToken = onToken;
  }

  start(status: number, headers: Headers, statusText: string): void {
    this.#status = status;
    this.#statusText = statusText;
    this.#retryAfter = first(headers['retry-after']);
    if (this.#isSuccess && first(headers['content-type'])?.includes('text/event-stream')) {
      this.#events = this.#newEvents();
    }
    this.#onToken();
  }

  data(bytes: Buffer): void {
    if (this.#events !== null) {
      this.#events.push(bytes);
    } else if (this.#isSuccess || this.#bodyBytes < MOST_BYTES_OF_A_REFUSAL) {
      this.#body.push(bytes);
      this.#bodyBytes += bytes.length;
    }
  }

  end(): ReadReply {
    if (this.#events === null) this.#readBody(Buffer.concat(this.#body));
    return this.#answer.reply();
  }

  get #isSuccess(): boolean {
    return this.#status < 300;
  }

  #newEvents(): EventStream {
    return new EventStream((data) => {
      if (this.#isDone) return;
      if (data === '[DONE]') {
        this.#isDone = true;
        this.#answer.streamEnded();
        return;
      }
      this.#hasChunks = true;
      if (this.#answer.addChunk(data)) this.#onToken();
    });
  }

  #readBody(body: Buffer): void {
    const text = body.toString();
    if (!this.#isSuccess) {
      throw new RefusedCall(messageOf(text) ?? this.#statusText, {
        status: this.#status,
        retryAfter: this.#retryAfter,
        body: text,
      });
    }
    if (text.trimStart().startsWith('{')) {
      this.#answer.addDocument(text);
      return;
    }
    this.#newEvents().push(body);
    if (!this.#hasChunks) throw notTheProtocol();
  }
}

/** `{"error": {"message"}}`, or `{"error"}`. Null: the body says nothing that we can read. */
function messageOf(body: string): string | null {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    const message = typeof error === 'object' ? (error as { message?: unknown } | null)?.message : error;
    return typeof message === 'string' ? message : null;
  } catch {
    return null;
  }
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
