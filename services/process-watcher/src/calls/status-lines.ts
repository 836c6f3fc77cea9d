import { StringDecoder } from 'node:string_decoder';

/**
 * Splits the output of a program that is an agent: lines that begin with the prefix are interim statuses, all others are
 * its answer. It takes the bytes as they come, and joins a line or a character that was cut between two calls.
 */
export class StatusLines {
  readonly #prefix: string;
  readonly #decoder = new StringDecoder('utf8');
  /** The unfinished line in parts, so that a line of megabytes is not searched again with every call. */
  #rest: string[] = [];
  #answer: string[] = [];

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Returns the statuses that are complete by now. Empty ones are left out. */
  feed(bytes: Buffer): string[] {
    const [first = '', ...more] = this.#decoder.write(bytes).split('\n');
    this.#rest.push(first);
    const last = more.pop();
    if (last === undefined) return [];
    const lines = [this.#rest.join(''), ...more];
    this.#rest = [last];
    return lines.flatMap((line) => this.#take(line, '\n'));
  }

  /** Returns the status of the last line, which may have no newline. */
  end(): string[] {
    const last = this.#rest.join('') + this.#decoder.end();
    this.#rest = [];
    return last === '' ? [] : this.#take(last, '');
  }

  get answer(): string {
    return this.#answer.join('').trimEnd();
  }

  #take(line: string, end: string): string[] {
    if (!line.startsWith(this.#prefix)) {
      this.#answer.push(line + end);
      return [];
    }
    const status = line.slice(this.#prefix.length).trim();
    return status === '' ? [] : [status];
  }
}
