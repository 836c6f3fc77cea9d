import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { segmentPath, segmentStarts } from '../supervisor/output-file.ts';

/** A part of what a process printed. Positions count all bytes that it ever printed. */
export interface OutputPart {
  readonly bytes: Buffer;
  readonly from: number;
  /** Where to continue. */
  readonly next: number;
  /** The first byte that is still kept. */
  readonly kept: number;
  /** How much was printed so far. */
  readonly end: number;
}

/** At most `limit` bytes from `from` on. Starts later if those are not kept any more. */
export function readOutput(dir: string, name: string, from: number, limit: number): OutputPart {
  const starts = segmentStarts(dir, name);
  const kept = starts[0] ?? 0;
  const parts: Buffer[] = [];
  // Never after the end: a reader that continues from `next` would miss what is printed until then.
  let at = Math.max(kept, Math.min(from, outputEnd(dir, name)));
  const begin = at;
  let left = limit;
  let end = kept;
  for (const start of starts) {
    const size = withSegment(dir, name, start, (file, length) => {
      const bytes = Math.min(left, start + length - at);
      if (at < start || bytes <= 0) return length;
      const part = Buffer.alloc(bytes);
      const read = readSync(file, part, 0, bytes, at - start);
      parts.push(part.subarray(0, read));
      at += read;
      left -= read;
      return length;
    });
    end = start + size;
  }
  return { bytes: Buffer.concat(parts), from: begin, next: at, kept, end };
}

export function outputEnd(dir: string, name: string): number {
  const last = segmentStarts(dir, name).at(-1);
  return last === undefined ? 0 : last + withSegment(dir, name, last, (_file, length) => length);
}

/** The last `limit` bytes. */
export function readTail(dir: string, name: string, limit: number): OutputPart {
  return readOutput(dir, name, Math.max(0, outputEnd(dir, name) - limit), limit);
}

/** Returns 0 if the segment is gone by now: the process prints fast. */
function withSegment(
  dir: string,
  name: string,
  start: number,
  use: (file: number, length: number) => number,
): number {
  let file: number;
  try {
    file = openSync(segmentPath(dir, name, start), 'r');
  } catch {
    return 0;
  }
  try {
    return use(file, fstatSync(file).size);
  } finally {
    closeSync(file);
  }
}

/** Any bytes as text. Leaves out a character that was cut through at the start or the end. */
export function asText(
  bytes: Buffer,
  cut: { readonly start?: boolean; readonly end?: boolean } = {},
): string {
  let from = 0;
  let to = bytes.length;
  // A UTF-8 character has at most three continuation bytes (10xxxxxx).
  if (cut.start) while (from < Math.min(3, to) && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  if (cut.end) to = wholeEnd(bytes);
  return bytes.toString('utf8', from, to);
}

/** Where the last complete character ends. */
function wholeEnd(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** Text for a model: the beginning and the end of what was printed, with the size of the gap between them. */
export function shownOutput(dir: string, name: string, limit: number): string {
  const end = outputEnd(dir, name);
  const all = readOutput(dir, name, 0, limit);
  if (all.kept === 0 && end <= limit) return asText(all.bytes);
  // Errors are mostly at the end, so the end gets most of the space.
  const head = all.kept > 0 ? null : readOutput(dir, name, 0, Math.floor(limit / 4));
  const tail = readTail(dir, name, limit - (head?.bytes.length ?? 0));
  const left = tail.from - (head?.next ?? 0);
  return [
    ...(head === null ? [] : [asText(head.bytes, { end: true })]),
    `[... ${left} bytes left out ...]`,
    asText(tail.bytes, { start: true }),
  ].join('\n');
}
