import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { MATCHES_FILE, type MatchRecord } from '../supervisor/protocol.ts';

/** Of the file at once. A record is one line of at most some 20 kB, so that at least one is whole. */
const PART_BYTES = 65_536;
const NEWLINE = 0x0a;

export interface MatchFilePart {
  readonly matches: readonly MatchRecord[];
  /** Where to go on; as it was: there is nothing more. */
  readonly next: number;
}

/** The matches that the supervisor has written from byte `from` on, a part at a time. */
export function readMatches(dir: string, from: number): MatchFilePart {
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
    return Buffer.alloc(0); // Nothing matched yet.
  }
  try {
    const part = Buffer.alloc(PART_BYTES);
    return part.subarray(0, readSync(file, part, 0, PART_BYTES, from));
  } finally {
    closeSync(file);
  }
}

/** A line that is not whole is what a full disk or a power failure left: it does not cost those behind it. */
function parsed(line: string): MatchRecord[] {
  try {
    return line === '' ? [] : [JSON.parse(line) as MatchRecord];
  } catch {
    return [];
  }
}
