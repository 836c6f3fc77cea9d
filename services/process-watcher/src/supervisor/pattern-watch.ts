import type { MatchRecord } from './protocol.ts';

/** At most one notice per process in this time (issue 6), so that not every line of a log wakes an agent. */
const NOTICE_GAP_MS = 15_000;
/** After this many gaps in a row with further matches, the pattern is a heartbeat and not news. */
const BUSY_GAPS = 3;
/** With this many matches within one gap, there is no need to wait for two more gaps. */
const TOO_MANY_IN_A_GAP = 1_000;
/** How much is shown of a line that matched, and kept of an unfinished one. Longer than any pattern may be. */
const LONGEST_LINE_BYTES = 2_000;
const NEWLINE = 0x0a;

/**
 * Finds the watch patterns (substrings of a line) in output, however it is cut into chunks, and decides which matches are
 * worth a notice: the first, then at most one per NOTICE_GAP_MS. If there are too many, the last notice says so.
 *
 *   quiet --match--> noticed --gap over, no further match--> quiet
 *   noticed --gap over, further matches--> noticed (busy + 1)      the next match is a notice again
 *   busy for BUSY_GAPS, or TOO_MANY_IN_A_GAP --> off
 */
export class PatternWatch {
  readonly #patterns: readonly { readonly text: string; readonly bytes: Buffer }[];
  readonly #now: () => number;
  /** The unfinished line so far; only its last LONGEST_LINE_BYTES. */
  #line: Buffer = Buffer.alloc(0);
  /** Whether the unfinished line has matched: a line matches once. */
  #lineMatched = false;
  #matches = 0;
  #noticedAt = Number.NEGATIVE_INFINITY;
  #suppressed = 0;
  #busyGaps = 0;
  #off = false;

  constructor(patterns: readonly string[], now: () => number = () => performance.now()) {
    this.#patterns = patterns
      .filter((text) => text !== '' && !text.includes('\n'))
      .map((text) => ({ text, bytes: Buffer.from(text, 'utf8') }));
    this.#now = now;
  }

  get off(): boolean {
    return this.#off || this.#patterns.length === 0;
  }

  /** Returns the matches in this part of the output that are worth a notice. */
  take(chunk: Buffer): MatchRecord[] {
    if (this.off) return [];
    const first = chunk.indexOf(NEWLINE);
    if (first === -1) return this.#extend(chunk);
    const found = this.#complete(chunk.subarray(0, first));
    const last = chunk.lastIndexOf(NEWLINE);
    if (last > first) found.push(...this.#wholeLines(chunk.subarray(first + 1, last + 1)));
    if (last + 1 < chunk.length) found.push(...this.#extend(chunk.subarray(last + 1)));
    return found;
  }

  /** Searches the unfinished line (a prompt, for example). Called when nothing was printed for a moment. */
  settle(): MatchRecord[] {
    return this.off || this.#lineMatched || this.#line.length === 0 ? [] : this.#matchLine(this.#line);
  }

  #extend(part: Buffer): MatchRecord[] {
    const line = Buffer.concat([this.#line, part]);
    // Most matches wait for the end of their line, so that the notice shows the whole line. A long line is searched here,
    // because only its last bytes are kept. They are a copy, since a slice would keep the whole chunk in memory.
    const found = line.length > LONGEST_LINE_BYTES && !this.#lineMatched ? this.#matchLine(line) : [];
    this.#line = Buffer.from(line.subarray(-LONGEST_LINE_BYTES));
    return found;
  }

  #complete(part: Buffer): MatchRecord[] {
    const line = this.#line.length === 0 ? part : Buffer.concat([this.#line, part]);
    const found = this.#lineMatched ? [] : this.#matchLine(line);
    this.#line = Buffer.alloc(0);
    this.#lineMatched = false;
    return found;
  }

  /** Searches all lines at once, so that the watch does not slow down a program that prints short lines at full speed. */
  #wholeLines(lines: Buffer): MatchRecord[] {
    const found: MatchRecord[] = [];
    for (let from = 0; from < lines.length && !this.off; ) {
      const hits = this.#patterns.map(({ bytes }) => lines.indexOf(bytes, from)).filter((at) => at !== -1);
      if (hits.length === 0) break;
      const at = Math.min(...hits);
      const start = lines.lastIndexOf(NEWLINE, at) + 1;
      const end = lines.indexOf(NEWLINE, at);
      found.push(...this.#matchLine(lines.subarray(start, end)));
      this.#lineMatched = false;
      from = end + 1;
    }
    return found;
  }

  #matchLine(line: Buffer): MatchRecord[] {
    const hit = this.#patterns.find(({ bytes }) => line.includes(bytes));
    if (hit === undefined) return [];
    this.#lineMatched = true;
    const record = this.#pace(hit.text, shown(line, line.indexOf(hit.bytes)));
    return record === null ? [] : [record];
  }

  #pace(pattern: string, line: string): MatchRecord | null {
    const now = this.#now();
    const inGap = now - this.#noticedAt < NOTICE_GAP_MS;
    if (inGap) {
      this.#suppressed += 1;
      return this.#suppressed > TOO_MANY_IN_A_GAP ? this.#switchOff(pattern, line) : null;
    }
    this.#busyGaps = this.#suppressed > 0 ? this.#busyGaps + 1 : 0;
    if (this.#busyGaps >= BUSY_GAPS) return this.#switchOff(pattern, line);
    this.#noticedAt = now;
    this.#suppressed = 0;
    return this.#record(pattern, line, false);
  }

  #switchOff(pattern: string, line: string): MatchRecord {
    this.#off = true;
    this.#line = Buffer.alloc(0);
    return this.#record(pattern, line, true);
  }

  #record(pattern: string, line: string, overload: boolean): MatchRecord {
    this.#matches += 1;
    return { match: this.#matches, pattern, line, overload };
  }
}

/** The line around its match, cut at both ends if it is long. */
function shown(line: Buffer, at: number): string {
  const from = line.length <= LONGEST_LINE_BYTES ? 0 : Math.max(0, at - LONGEST_LINE_BYTES / 2);
  return line
    .subarray(from, from + LONGEST_LINE_BYTES)
    .toString('utf8')
    .trimEnd();
}
