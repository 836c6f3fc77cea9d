import {
  closeSync,
  copyFileSync,
  fstatSync,
  openSync,
  readSync,
  statSync,
  truncateSync,
  watch,
} from 'node:fs';
import { basename } from 'node:path';
import { isMissing } from '../data-directory/kept-file.ts';

/** Follows a program's log file for the launcher's own output. Programs write directly to their files. */
export interface LogTail {
  readonly path: string;
  /** Shows what was written since the last look. */
  look(): void;
}

/** Per look and program. Nobody can read more, and rendering would take time from the services. */
const MAX_LINES = 200;
const CHUNK = 256 * 1024;
/** One file of this size and one older copy: a stack that runs for months must not fill the disk. */
const MAX_FILE = 64 * 1024 * 1024;

export function tailLog(path: string, show: (line: string) => void): LogTail {
  let offset = sizeOf(path);
  let rest = '';
  const buffer = Buffer.alloc(CHUNK);
  return {
    path,
    look() {
      const size = sizeOf(path);
      if (size < offset) offset = 0; // somebody emptied the file
      if (size === offset) return;
      const file = openSync(path, 'r');
      try {
        const length = Math.min(fstatSync(file).size - offset, CHUNK);
        const skipped = Math.max(0, size - offset - length);
        const read = readSync(file, buffer, 0, length, offset);
        offset += read + skipped;
        const lines = (rest + buffer.toString('utf8', 0, read)).split('\n');
        rest = skipped > 0 ? '' : (lines.pop() ?? '');
        for (const line of lines.slice(0, MAX_LINES)) if (line !== '') show(line);
        const hidden = lines.length - MAX_LINES;
        if (hidden > 0 || skipped > 0) show(`... more than can be shown: see ${path}`);
      } finally {
        closeSync(file);
      }
    },
  };
}

/** What is written within this time is shown together. */
const LOOK_MS = 100;

/**
 * Looks whenever a log in the directory grows. The kernel says when: looking ten times a second made most of an idle
 * launcher's 14 wake-ups a second. Where the kernel cannot say it (no more watches), it looks ten times a second.
 * Returns a function that ends it.
 */
export function followLogs(directory: string, tails: readonly LogTail[]): () => void {
  const timers = new Map<LogTail, NodeJS.Timeout>();
  const lookSoon = (tail: LogTail) => {
    if (timers.has(tail)) return;
    const look = () => {
      timers.delete(tail);
      tail.look();
    };
    timers.set(tail, setTimeout(look, LOOK_MS).unref());
  };
  let end = () => {};
  const poll = () => {
    const timer = setInterval(() => tails.forEach(lookSoon), LOOK_MS).unref();
    end = () => clearInterval(timer);
  };
  try {
    const watcher = watch(directory, { persistent: false }, (_, name) => {
      for (const tail of tails) if (name === null || name === basename(tail.path)) lookSoon(tail);
    });
    end = () => watcher.close();
    watcher.on('error', () => {
      watcher.close();
      poll();
    });
  } catch {
    poll();
  }
  return () => {
    end();
    for (const timer of timers.values()) clearTimeout(timer);
  };
}

/** Copies a log that is too long, then empties it. It is not renamed, because the program has it open for appending. */
export function keepShort(path: string): void {
  if (sizeOf(path) <= MAX_FILE) return;
  copyFileSync(path, `${path}.1`);
  truncateSync(path);
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}
