import { closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Keeps what a process prints on disk, up to a cap: in segments named by the byte they begin with (`output.0`,
 * `output.524288`). A full segment is followed by the next, and only the last two are kept. So between half the cap and
 * the whole cap can be read, by absolute position, also later.
 *
 * Writes are synchronous: 64 KiB into the page cache take some 20 us, which is less than a queue would cost, and nothing
 * is held in memory. A process that prints faster is slowed down by its pipe.
 */
export class OutputFile {
  readonly #dir: string;
  readonly #name: string;
  readonly #segmentBytes: number;
  #file: number | null = null;
  #segmentStart = 0;
  #previousStart: number | null = null;
  #written = 0;
  /** Bytes that could not be written, because the disk is full. */
  #dropped = 0;

  constructor(dir: string, name: string, keepBytes: number) {
    this.#dir = dir;
    this.#name = name;
    this.#segmentBytes = Math.max(1, Math.floor(keepBytes / 2));
  }

  get bytes(): number {
    return this.#written + this.#dropped;
  }

  write(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      const free = this.#segmentBytes - (this.#written - this.#segmentStart);
      if (free <= 0) {
        this.#rotate();
        continue;
      }
      const part = rest.subarray(0, free);
      rest = rest.subarray(part.length);
      if (!this.#append(part)) return;
    }
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  /** A full disk must not end the supervisor of all other commands: what cannot be written is counted and dropped. */
  #append(part: Buffer): boolean {
    try {
      this.#file ??= openSync(segmentPath(this.#dir, this.#name, this.#segmentStart), 'a', 0o600);
      for (let done = 0; done < part.length; ) done += writeSync(this.#file, part, done);
      this.#written += part.length;
      return true;
    } catch {
      this.#dropped += part.length;
      return false;
    }
  }

  #rotate(): void {
    this.close();
    if (this.#previousStart !== null) {
      rmSync(segmentPath(this.#dir, this.#name, this.#previousStart), { force: true });
    }
    this.#previousStart = this.#segmentStart;
    this.#segmentStart = this.#written;
  }
}

export function segmentPath(dir: string, name: string, start: number): string {
  return join(dir, `${name}.${start}`);
}

/** The first bytes of the segments on disk, in order. */
export function segmentStarts(dir: string, name: string): number[] {
  let files: string[];
  try {
    files = readdirSync(dir);
  } catch {
    return [];
  }
  const prefix = `${name}.`;
  return files
    .filter((file) => file.startsWith(prefix) && /^\d+$/.test(file.slice(prefix.length)))
    .map((file) => Number(file.slice(prefix.length)))
    .sort((a, b) => a - b);
}
