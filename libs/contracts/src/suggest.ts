// Used for commands and options of the command line, and for keys and names of the config file.

/** With more edits a suggestion is a guess. `sesions` is 1 edit away, `lst` is 1 from `list`, `delivries` is 2. */
const MOST_EDITS = 2;

/** The known word that the user most likely meant, or null when none is close. */
export function suggest(word: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let fewest = MOST_EDITS + 1;
  for (const candidate of known) {
    // The beginning of a word means that word: `dead` is `dead-letters`.
    const edits = word.length >= 3 && candidate.startsWith(word) ? 1 : editsBetween(word, candidate);
    // Two edits of a short word leave nothing of it.
    if (edits < fewest && edits < Math.max(candidate.length, word.length) - 1) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours. */
export function editsBetween(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const at = (up: number, left: number): number => rows[i - up]?.[j - left] ?? 0;
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let edits = Math.min(at(1, 0) + 1, (row[j - 1] ?? 0) + 1, at(1, 1) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        edits = Math.min(edits, at(2, 2) + 1);
      }
      row.push(edits);
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}
