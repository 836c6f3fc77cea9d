import { readFileSync, statSync } from 'node:fs';

/** A list of values in a file, for `in_file`: a JSON list, a JSON object (its keys), or text with a value per line. */
export interface ValueFile {
  /** @throws ValueFileUnreadable */
  values(): readonly unknown[];
}

/** Thrown when the file of a filter is gone or broken. The webhook is not judged without it: the sender comes again. */
export class ValueFileUnreadable extends Error {
  override readonly name = 'ValueFileUnreadable';
  readonly code = 'filter_file_unreadable';
  readonly retryable = true;
}

/** As for a body: it is read into memory, and every change of it is parsed between two requests. */
const LARGEST_FILE_BYTES = 1_048_576;
/** How long an edit may go unnoticed. A look costs a few microseconds, which a flood of webhooks should not pay each. */
const LOOK_EVERY_MS = 1_000;

/** Reads the file at once, and again when it changed: watch lists are edited while the service runs. */
export function openValueFile(path: string, now: () => number = () => performance.now()): ValueFile {
  let seen = read(path);
  let lookedAt = now();
  return {
    values: () => {
      if (now() - lookedAt >= LOOK_EVERY_MS) {
        if (stampOf(path) !== seen.stamp) seen = read(path);
        lookedAt = now();
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
  // The stamp first: a change in between is then seen by the next look.
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
