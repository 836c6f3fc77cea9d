import { StringDecoder } from 'node:string_decoder';
import { LONGEST_ANSWER } from '../checked-reply.ts';

/** In characters. An answer that comes in one event is twice as long as its text at most: quotes and line ends are escaped. */
const LONGEST_EVENT = 2 * LONGEST_ANSWER;

/**
 * Reads the data of server-sent events (the HTML standard, 9.2) from bytes that may be cut anywhere: within a line, a line
 * end or a character. Names and ids of events mean nothing in the protocols here. The last event counts only with the
 * empty line behind it.
 */
export class EventStream {
  readonly #onData: (data: string) => void;
  readonly #decoder = new StringDecoder('utf8');
  /** The beginning of a line whose end has not come. */
  #line = '';
  /** The lines of the event so far, joined. Null: it has no data yet. */
  #data: string | null = null;
  #started = false;
  /** The last character was a carriage return: a line feed after it belongs to it. */
  #afterReturn = false;

  constructor(onData: (data: string) => void) {
    this.#onData = onData;
  }

  /** @throws for an event that is too long, and what `onData` throws */
  push(bytes: Buffer): void {
    const text = this.#normalised(this.#decoder.write(bytes));
    let from = 0;
    // Only what is new is searched: a long line may come in thousands of pieces.
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = this.#line + text.slice(from, end);
      this.#line = '';
      from = end + 1;
      this.#take(line);
    }
    this.#line += text.slice(from);
    if (this.#line.length + (this.#data?.length ?? 0) > LONGEST_EVENT) {
      throw new Error(`an event of more than ${LONGEST_EVENT} characters`);
    }
  }

  /** Without a byte order mark, and with every line end as one line feed. */
  #normalised(decoded: string): string {
    if (decoded === '') return '';
    let text = decoded;
    if (!this.#started) {
      this.#started = true;
      if (text.startsWith('\uFEFF')) text = text.slice(1);
    }
    if (this.#afterReturn && text.startsWith('\n')) text = text.slice(1);
    this.#afterReturn = decoded.endsWith('\r');
    return text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text;
  }

  #take(line: string): void {
    if (line === '') {
      const data = this.#data;
      this.#data = null;
      if (data !== null) this.#onData(data);
    } else if (line.startsWith('data:')) {
      const value = line.slice(line.charCodeAt(5) === SPACE ? 6 : 5);
      this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
    }
    // A comment (`: keep-alive`) or a field that means nothing here.
  }
}

const SPACE = 0x20;
