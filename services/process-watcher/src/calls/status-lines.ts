import { StringDecoder } from 'node:string_decoder';

/**
 * The output of a program that is an agent: lines that begin with the prefix are interim statuses, all others are its
 * answer. Fed with the bytes as they come; what is split between two feedings, a line or a character, is put together.
 */
export class StatusLines {
  readonly #prefix: string;
  readonly #decoder = new StringDecoder('utf8');
  /** The line that has no end yet, as it came: a line of megabytes is not looked through again with every feeding. */
  #rest: string[] = [];
  #answer: string[] = [];

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** The statuses that are whole by now. Empty ones say nothing, and are none. */
  feed(bytes: Buffer): string[] {
    const [first = '', ...more] = this.#decoder.write(bytes).split('\n');
    this.#rest.push(first);
    const last = more.pop();
    if (last === undefined) return [];
    const lines = [this.#rest.join(''), ...more];
    this.#rest = [last];
    return lines.flatMap((line) => this.#take(line, '\n'));
  }

  /** The last line may have no end. */
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
