import type { FileHandle } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';

/** A browser takes a file within a moment, also by a slow line. After this long it may have to give way. */
const SLOW_MS = 5_000;
/** Read and sent at once. */
const PART_BYTES = 16 * 1024;

/**
 * Files on their way to browsers. Anybody can ask for them and then read slowly, so what they hold is limited (invariant
 * strangers-cost-little): at the limit, the oldest one that is slow is closed for a new one. Each has one buffer, and the
 * buffers are used again: with a new one for each part, as a stream of Node has it, 3,000 files left 110 MB of garbage.
 */
export class Downloads {
  readonly #startedAt = new Map<ServerResponse, number>();
  readonly #free: Buffer[] = [];
  readonly #most: number;
  readonly #slowMs: number;

  constructor(most: number, slowMs = SLOW_MS) {
    this.#most = most;
    this.#slowMs = slowMs;
  }

  /** How many are on their way, and how many buffers wait to be used again. */
  get size() {
    return { open: this.#startedAt.size, free: this.#free.length };
  }

  /** False: there is no place now. */
  begin(response: ServerResponse): boolean {
    const now = performance.now();
    if (this.#startedAt.size >= this.#most) {
      // The first one is the oldest.
      const [[oldest, since] = []] = this.#startedAt;
      if (oldest === undefined || since === undefined || now - since < this.#slowMs) return false;
      this.#startedAt.delete(oldest);
      oldest.destroy();
    }
    this.#startedAt.set(response, now);
    response.once('close', () => this.#startedAt.delete(response));
    // A broken socket emits `close` right after.
    response.on('error', () => {});
    return true;
  }

  /** Sends the file to its end, or until the client is gone, and closes it. The headers are written already. */
  async send(file: FileHandle, response: ServerResponse): Promise<void> {
    const part = this.#free.pop() ?? Buffer.allocUnsafeSlow(PART_BYTES);
    try {
      for (;;) {
        const { bytesRead } = await file.read(part, 0, PART_BYTES, null);
        if (bytesRead === 0) break;
        // The socket may still hold the buffer of a client that is gone: that one is not used again.
        if (!(await isSent(response, part.subarray(0, bytesRead)))) return;
      }
      response.end();
      this.#free.push(part);
    } catch {
      // The disk failed. The client sees a file that is too short.
      response.destroy();
    } finally {
      await file.close();
    }
  }
}

/** True: the kernel has taken it. False: the client is gone. */
function isSent(response: ServerResponse, part: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const gone = () => resolve(false);
    if (response.destroyed) return gone();
    response.once('close', gone);
    response.write(part, (error) => {
      response.off('close', gone);
      resolve(!error && !response.destroyed);
    });
  });
}
