import { readFileSync, statSync } from 'node:fs';
import { AngeliaError } from '@angelia/contracts';

/** A list of values in a file, for `in_file`: a JSON list, a JSON object (its keys), or text with a value per line. */
interface ValueFile {
  /** @throws ValueFileUnreadable */
  values(): readonly unknown[];
}

/** Thrown if the file of a filter is missing or broken. The webhook is not filtered without it: the sender should retry. */
export class ValueFileUnreadable extends AngeliaError {
  override readonly name = 'ValueFileUnreadable';
  readonly code = 'filter_file_unreadable';
  readonly retryable = true;
}

/** The same limit as for a body: the file is read into memory, and parsed again between two requests when it changed. */
const LARGEST_FILE_BYTES = 1_048_576;
/** How long an edit may go unnoticed. A check takes a few microseconds, which not every webhook of a flood should pay. */
const CHECK_EVERY_MS = 1_000;

/** Reads the file now, and again after it changed: people edit watch lists while the service runs. */
export function openValueFile(path: string, now: () => number = () => performance.now()): ValueFile {
  let seen = read(path);
  let checkedAt = now();
  return {
    values: () => {
      if (now() - checkedAt >= CHECK_EVERY_MS) {
        if (stampOf(path) !== seen.stamp) seen = read(path);
        checkedAt = now();
      }
      return seen.values;
    },
  };
}

interface Seen {
  readonly stamp: string;
  readonly values: readonly unknown[];
}

function read(path: string): Seen {
  // The stamp first: the next check then sees a change in between.
  const stamp = stampOf(path);
  return { stamp, values: parse(readText(path)) };
}

function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    if (size <= LARGEST_FILE_BYTES) return `${ino}:${size}:${mtimeMs}`;
  } catch (error) {
    throw unreadable(path, error);
  }
  throw new ValueFileUnreadable(`the file ${path} is larger than ${LARGEST_FILE_BYTES} bytes`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): ValueFileUnreadable {
  const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  return new ValueFileUnreadable(
    missing ? `there is no file ${path}` : `the file ${path} cannot be read: ${(error as Error).message}`,
    { cause: error },
  );
}

function parse(text: string): readonly unknown[] {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return text
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== '');
  }
  if (Array.isArray(data)) return data;
  return typeof data === 'object' && data !== null ? Object.keys(data) : [data];
}
