import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { MATCHES_FILE, type MatchRecord } from '../supervisor/protocol.ts';

/** How much of the file to read at once. A record is one line of at most some 20 kB, so at least one is complete. */
const PART_BYTES = 65_536;
const NEWLINE = 0x0a;

interface Matches {
  readonly matches: readonly MatchRecord[];
  /** Where to continue; the same position if there is nothing more. */
  readonly next: number;
}

/** The matches that the supervisor has written from byte `from` on, one part at a time. */
export function readMatches(dir: string, from: number): Matches {
  const bytes = readPart(join(dir, MATCHES_FILE), from);
  // The last line may be half written.
  const whole = bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
  return { matches: whole.toString('utf8').split('\n').flatMap(parsed), next: from + whole.length };
}

function readPart(path: string, from: number): Buffer {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return Buffer.alloc(0); // Nothing has matched yet.
  }
  try {
    const part = Buffer.alloc(PART_BYTES);
    return part.subarray(0, readSync(file, part, 0, PART_BYTES, from));
  } finally {
    closeSync(file);
  }
}

/** Skips a line that a full disk or a power failure left incomplete: the lines after it still count. */
function parsed(line: string): MatchRecord[] {
  try {
    return line === '' ? [] : [JSON.parse(line) as MatchRecord];
  } catch {
    return [];
  }
}
